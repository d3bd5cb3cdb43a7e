import { describe, expect, it } from 'vitest';
import { readServiceBusHostOptions, serviceBusOptions, serviceBusOutputOptions } from './service-bus-options.js';

const trigger = (binding: unknown, section: unknown = {}) =>
  serviceBusOptions({
    functionName: 'pay',
    host: readServiceBusHostOptions(section).values,
    binding,
    cores: 2,
  });
const orders = { queueName: 'orders' };

describe('options of a serviceBusTrigger', () => {
  it('have the defaults of the official host, and one second for idle sessions', () => {
    expect(trigger(orders)).toEqual({
      entity: { path: 'orders', name: 'orders', subscription: undefined, isDeadLetterQueue: false },
      dataType: 'text',
      isSdkBinding: false,
      isBatch: false,
      isSessions: false,
      autoComplete: true,
      maxConcurrentCalls: 32,
      maxConcurrentSessions: 8,
      maxConcurrentCallsPerSession: 1,
      prefetchCount: 0,
      maxRenewalMs: 300_000,
      batch: { max: 1_000, min: 1, maxWaitMs: 30_000 },
      sessionIdleMs: 1_000,
      retryBackOffMs: 0,
      tryTimeoutMs: 30_000,
      unknownKeys: [],
    });
  });

  it('come from host.json, and from the trigger where it has its own', () => {
    const section = {
      autoCompleteMessages: false,
      maxConcurrentCalls: 4,
      maxMessageBatchSize: 10,
      sessionIdleTimeout: '00:00:20',
      clientRetryOptions: { tryTimeout: '00:00:05', mode: 'fixed' },
    };
    expect(
      trigger({ ...orders, maxConcurrentCalls: '7', cardinality: 'many', isSessionsEnabled: true }, section),
    ).toMatchObject({
      autoComplete: false,
      maxConcurrentCalls: 7,
      batch: { max: 10 },
      sessionIdleMs: 20_000,
      tryTimeoutMs: 5_000,
      isBatch: true,
      isSessions: true,
    });
    expect(trigger({ ...orders, autoCompleteMessages: true }, section).autoComplete).toBe(true);
  });

  it('name a queue, a subscription or their dead letters', () => {
    expect(trigger({ topicName: 'events', subscriptionName: 'mail' }).entity).toEqual({
      path: 'events/Subscriptions/mail',
      name: 'events',
      subscription: 'mail',
      isDeadLetterQueue: false,
    });
    expect(trigger({ queueName: 'orders/$DeadLetterQueue' }).entity).toEqual({
      path: 'orders/$DeadLetterQueue',
      name: 'orders',
      subscription: undefined,
      isDeadLetterQueue: true,
    });
    expect(trigger({ topicName: 'events', subscriptionName: 'mail/$deadletterqueue' }).entity).toMatchObject({
      subscription: 'mail',
      isDeadLetterQueue: true,
    });
  });

  it('are refused with every problem at once', () => {
    expect(() =>
      trigger({ queueName: '/', maxConcurrentCalls: 0, minMessageBatchSize: 5, maxMessageBatchSize: 2 }),
    ).toThrow(
      [
        'Function pay has invalid trigger options. Correct these:',
        '  - its serviceBusTrigger: queueName must be 1 to 260 letters, digits, periods, hyphens, underscores and slashes, beginning and ending with a letter or digit, with /$DeadLetterQueue behind it for its dead letters, not "/"',
        '  - its serviceBusTrigger: maxConcurrentCalls must be a whole number from 1 to 100000, not 0',
        '  - its serviceBusTrigger: minMessageBatchSize must be at most maxMessageBatchSize (2), not 5',
      ].join('\n'),
    );
  });

  it.each([
    [{}, 'its serviceBusTrigger needs a queueName, or a topicName and a subscriptionName'],
    [{ topicName: 'events' }, 'its serviceBusTrigger needs the subscriptionName of its topic'],
    [{ ...orders, topicName: 'events' }, 'has a queueName and a topicName; set one of them'],
    ['orders', 'its serviceBusTrigger must be an object'],
  ])('are refused: %j', (binding, problem) => {
    expect(() => trigger(binding)).toThrow(problem);
  });

  it('report keys that no component reads', () => {
    expect(trigger({ ...orders, name: 'x', isSessionEnabled: true, accessRights: 'manage' }).unknownKeys).toEqual([
      'isSessionEnabled',
    ]);
  });
});

describe('options of a serviceBus output', () => {
  const output = (binding: unknown) => serviceBusOutputOptions({ functionName: 'pay', binding });

  it('name a queue or a topic', () => {
    expect(output(orders)).toEqual({ entityName: 'orders' });
    expect(output({ topicName: 'events' })).toEqual({ entityName: 'events' });
  });

  it('are refused with what is wrong', () => {
    expect(() => output({})).toThrow('its serviceBus output needs a queueName or a topicName');
    expect(() => output({ ...orders, topicName: 'events' })).toThrow('set one of them');
    expect(() => output({ queueName: 'orders/$DeadLetterQueue' })).toThrow('its serviceBus output: queueName must be');
  });
});

describe('extensions.serviceBus of host.json', () => {
  it('is read with every problem, and names of keys that are not known', () => {
    expect(readServiceBusHostOptions({ maxConcurrentCalls: 'x', autoCompleteMessages: 'false', batchSize: 1 })).toEqual(
      {
        values: { autoCompleteMessages: false },
        problems: [{ key: 'maxConcurrentCalls', problem: 'must be a whole number from 1 to 100000, not "x"' }],
        warnings: [],
        unknownKeys: ['batchSize'],
      },
    );
  });

  it('replaces what Azure accepts and this runtime cannot do', () => {
    const { values, warnings } = readServiceBusHostOptions({
      transportType: 'amqpWebSockets',
      maxMessageBatchSize: 5_000,
    });
    expect(values).toMatchObject({ maxMessageBatchSize: 2_000 });
    expect(warnings).toEqual([
      { key: 'transportType', problem: 'is "amqpWebSockets", which is not supported; "amqpTcp" is used' },
      { key: 'maxMessageBatchSize', problem: 'is 5000; 2000 is used' },
    ]);
  });

  it('refuses a section inside it that is misspelt', () => {
    expect(readServiceBusHostOptions({ clientRetryOptions: { tryTimout: '00:00:05' } }).problems).toHaveLength(1);
  });
});
