import { hasCode } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import {
  eventHubOptions,
  eventHubOutputOptions,
  readEventHubHostOptions,
  type EventHubHostOptions,
} from './event-hub-options.js';

const read = (binding: Readonly<Record<string, unknown>>, host: EventHubHostOptions = {}) =>
  eventHubOptions({ functionName: 'ingest', host, binding });
const problemOf = (binding: Readonly<Record<string, unknown>>, host: EventHubHostOptions = {}): string => {
  try {
    read(binding, host);
  } catch (error) {
    if (error instanceof Error && hasCode(error, 'TRIGGER_OPTIONS_INVALID')) return error.message;
  }
  throw new Error('it was accepted');
};

describe('the options of an eventHubTrigger', () => {
  it('have the defaults of Azure, and one event at a time', () => {
    expect(read({ eventHubName: 'telemetry' })).toMatchObject({
      eventHubName: 'telemetry',
      consumerGroup: '$Default',
      isBatch: false,
      maxEventBatchSize: 1,
      prefetchCount: 300,
      batchCheckpointFrequency: 1,
      initialOffset: { kind: 'start' },
      orderBy: 'partition',
      partitionConcurrency: 1,
      onFailure: 'advance',
      checkpointStore: 'runtime',
      checkpointContainer: 'azure-webjobs-eventhub',
      unknownKeys: [],
    });
    expect(read({ cardinality: 'many', maxEventBatchSize: 250 }).prefetchCount).toBe(750);
    expect(read({ cardinality: 'many', maxEventBatchSize: 250, prefetchCount: 10 }).prefetchCount).toBe(10);
    expect(read({ cardinality: 'Many' })).toMatchObject({
      isBatch: true,
      maxEventBatchSize: 100,
      minEventBatchSize: 1,
      maxWaitMs: 60_000,
    });
  });

  it('come from host.json, and from the trigger with precedence', () => {
    const { values, problems } = readEventHubHostOptions({
      maxEventBatchSize: '50',
      minEventBatchSize: 5,
      maxWaitTime: '00:00:10',
      initialOffsetOptions: { type: 'fromEnqueuedTime', enqueuedTimeUtc: '2030-01-01T00:00:00' },
      clientRetryOptions: { mode: 'fixed', tryTimeout: '00:00:03', maxRetries: 2 },
      loadBalancingUpdateInterval: '00:00:01',
      partitionOwnershipExpirationInterval: '00:00:04',
    });
    expect(problems).toEqual([]);
    expect(
      read({ cardinality: 'many', maxEventBatchSize: 20, onFailure: 'hold', orderBy: 'key' }, values),
    ).toMatchObject({
      maxEventBatchSize: 20,
      minEventBatchSize: 5,
      maxWaitMs: 10_000,
      initialOffset: { kind: 'time', enqueuedAtMs: Date.UTC(2030, 0, 1) },
      retries: { tryTimeout: 3_000, maxRetries: 2 },
      updateIntervalMs: 1_000,
      ownershipExpiryMs: 4_000,
      onFailure: 'hold',
      orderBy: 'key',
      partitionConcurrency: 4,
    });
  });

  it.each([
    ['maxEventBatchSize', 0],
    ['prefetchCount', -1],
    ['maxWaitTime', 'soon'],
    ['initialOffsetOptions', { type: 'fromTomorrow' }],
    ['initialOffsetOptions', { type: 'fromEnqueuedTime' }],
    ['initialOffsetOptions', { typ: 'fromEnd' }],
    ['clientRetryOptions', { maxRetries: 'many' }],
    ['orderBy', 'time'],
    ['onFailure', 'ignore'],
    ['cardinality', 'several'],
    ['trackLastEnqueuedEventProperties', 'yes'],
  ])('refuse a wrong %s: %j', (key, value) => {
    expect(problemOf({ eventHubName: 'telemetry', [key]: value })).toContain(`${key} must be`);
  });

  it('refuse what contradicts itself, with all problems at once', () => {
    const said = problemOf({
      eventHubName: 'telemetry',
      cardinality: 'many',
      minEventBatchSize: 200,
      onFailure: 'deadLetter',
      loadBalancingUpdateInterval: '00:00:10',
      partitionOwnershipExpirationInterval: '00:00:15',
    });
    expect(said).toContain('minEventBatchSize (200) must not be larger than maxEventBatchSize (100)');
    expect(said).toContain('needs deadLetterHub');
    expect(said).toContain('must be at least twice loadBalancingUpdateInterval');
    expect(problemOf({ deadLetterHub: 'x' })).toContain('has no effect without onFailure');
    expect(problemOf({ eventHubName: 'x', onFailure: 'deadletter', deadLetterHub: 'X' })).toContain(
      'must be another hub',
    );
  });

  it('replace WebSockets, which are accepted in Azure, with a warning', () => {
    const { values, warnings } = readEventHubHostOptions({ transportType: 'amqpWebSockets' });
    expect(values.transportType).toBe('amqptcp');
    expect(warnings).toEqual([{ key: 'transportType', problem: 'is "amqpWebSockets"; "amqpTcp" is used' }]);
  });

  it('report unknown keys, except those that others read', () => {
    expect(read({ eventHubName: 'x', consumergroup: 'g', connection: 'c', batchSize: 3 })).toMatchObject({
      consumerGroup: 'g',
      unknownKeys: ['batchSize'],
    });
  });
});

describe('the options of an eventHub output', () => {
  const output = (binding: Readonly<Record<string, unknown>>) =>
    eventHubOutputOptions({ functionName: 'ingest', host: {}, binding });

  it('have a key and properties, as an object or as JSON after expressions were evaluated', () => {
    expect(output({ eventHubName: 'out', partitionKey: 'k', eventProperties: { a: 1 } })).toMatchObject({
      eventHubName: 'out',
      partitionKey: 'k',
      eventProperties: { a: 1 },
    });
    expect(output({ eventProperties: '{"a":"x"}' }).eventProperties).toEqual({ a: 'x' });
    expect(() => output({ eventProperties: '[1]' })).toThrow(
      'eventProperties must be an object of texts, numbers and booleans, or its JSON',
    );
  });
});
