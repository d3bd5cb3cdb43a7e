import { describe, expect, it } from 'vitest';
import type { Binding } from './function-definition.js';
import { parseHostJson } from './host-json.js';
import { eventHubTriggerOptions, queueTriggerOptions, serviceBusTriggerOptions } from './trigger-options.js';

const trigger = (options: Record<string, unknown>): Binding => ({
  name: 'item',
  type: 'queueTrigger',
  direction: 'in',
  dataType: undefined,
  options,
});
const { hostJson } = parseHostJson(
  '{"version":"2.0","extensions":{"queues":{"batchSize":8,"maxDequeueCount":3},"eventHubs":{"maxEventBatchSize":50}}}',
  {},
);

describe('options of a trigger', () => {
  it('are those of host.json where the trigger says nothing', () => {
    expect(queueTriggerOptions(trigger({ queueName: 'orders' }), hostJson, 4)).toMatchObject({
      options: { batchSize: 8, newBatchThreshold: 16, maxDequeueCount: 3, visibilityTimeoutMs: 0 },
    });
    expect(serviceBusTriggerOptions(trigger({}), hostJson, 2)).toMatchObject({ options: { maxConcurrentCalls: 32 } });
    expect(eventHubTriggerOptions(trigger({}), hostJson)).toMatchObject({ options: { maxEventBatchSize: 50 } });
  });

  it('are its own where it says something', () => {
    const own = trigger({ queueName: 'orders', batchSize: 1, NewBatchThreshold: 0, visibilityTimeout: '00:00:30' });
    expect(queueTriggerOptions(own, hostJson, 4)).toMatchObject({
      options: { batchSize: 1, newBatchThreshold: 0, maxDequeueCount: 3, visibilityTimeoutMs: 30_000 },
    });
    expect(serviceBusTriggerOptions(trigger({ autoCompleteMessages: false }), hostJson, 1)).toMatchObject({
      options: { autoCompleteMessages: false, maxConcurrentCalls: 16 },
    });
  });

  it('must be good there as well', () => {
    expect(queueTriggerOptions(trigger({ batchSize: 99 }), hostJson, 1)).toEqual({
      problem: 'its option batchSize must be a whole number from 1 to 32, not 99',
    });
  });
});
