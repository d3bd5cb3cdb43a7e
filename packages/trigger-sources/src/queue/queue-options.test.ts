import { describe, expect, it } from 'vitest';
import { queueOptions, queueOutputOptions, readQueueHostOptions } from './queue-options.js';

const hostOf = (section: unknown) => readQueueHostOptions(section).values;
const trigger = (binding: unknown, section?: unknown, cores = 1) =>
  queueOptions({ functionName: 'process-order', host: hostOf(section), binding, cores });
const orders = { type: 'queueTrigger', name: 'item', direction: 'in', queueName: 'orders', connection: 'Shop' };

describe('options of a queue trigger', () => {
  it('have the defaults of the official host', () => {
    expect(trigger(orders)).toEqual({
      queueName: 'orders',
      poisonQueueName: 'orders-poison',
      dataType: 'text',
      batchSize: 16,
      newBatchThreshold: 8,
      maxDequeueCount: 5,
      visibilityTimeoutMs: 0,
      maxPollingIntervalMs: 60_000,
      leaseMs: 600_000,
      messageEncoding: 'base64',
      retryBackOffMs: 0,
      unknownKeys: [],
    });
  });

  it('read the retry back-off, and list unknown keys', () => {
    const options = trigger({ ...orders, retryBackOff: '00:00:05', bacthSize: 2 });
    expect(options).toMatchObject({ retryBackOffMs: 5_000, unknownKeys: ['bacthSize'], batchSize: 16 });
  });

  it('let more run at once where there are more cores, by the batch size that counts', () => {
    expect(trigger(orders, {}, 4).newBatchThreshold).toBe(32);
    expect(trigger({ ...orders, batchSize: 1 }, { batchSize: 32 }, 4).newBatchThreshold).toBe(0);
    expect(trigger({ ...orders, newBatchThreshold: 3 }, {}, 4).newBatchThreshold).toBe(3);
  });

  it('come from host.json, and each trigger may differ', () => {
    const hostJson = {
      batchSize: '8', // from the environment everything is text
      maxDequeueCount: 2,
      visibilityTimeout: '00:00:30',
      maxPollingInterval: '00:00:02',
      messageEncoding: 'None',
    };
    expect(trigger(orders, hostJson)).toMatchObject({
      batchSize: 8,
      maxDequeueCount: 2,
      visibilityTimeoutMs: 30_000,
      maxPollingIntervalMs: 2_000,
      messageEncoding: 'none',
    });
    const own = { ...orders, batchSize: 1, visibilityTimeout: '00:05:00', leaseDuration: '00:00:10' };
    expect(trigger(own, hostJson)).toMatchObject({
      batchSize: 1,
      maxDequeueCount: 2,
      visibilityTimeoutMs: 300_000,
      leaseMs: 10_000,
    });
  });

  it('name the poison queue, unless the queue is one', () => {
    expect(trigger({ ...orders, poisonQueueName: 'rejected' }).poisonQueueName).toBe('rejected');
    expect(trigger({ queueName: 'orders-poison' }).poisonQueueName).toBeUndefined();
    expect(trigger({ queueName: 'orders-poison', poisonQueueName: 'lost' }).poisonQueueName).toBe('lost');
  });

  it('know what the function takes', () => {
    expect(trigger({ ...orders, dataType: 'binary' }).dataType).toBe('bytes');
    expect(trigger({ ...orders, dataType: 'string' }).dataType).toBe('text');
  });

  it('take a queue name in any case, as the official host does', () => {
    expect(trigger({ queueName: 'Orders' }).queueName).toBe('orders');
  });

  it('are refused with every problem at once, each with function, key and what is allowed', () => {
    const binding = { queueName: 'no_such--name', maxPollingInterval: 100, visibilityTimeout: '8.00:00:00' };
    expect(() => trigger(binding)).toThrow(
      [
        '  - its queueTrigger: queueName must be 3 to 63 lower-case letters, digits and single hyphens, beginning and ending with a letter or digit, not "no_such--name"',
        '  - its queueTrigger: maxPollingInterval must be a time span from "00:00:00.100" to "1.00:00:00", not 100',
        '  - its queueTrigger: visibilityTimeout must be a time span from "00:00:00" to "7.00:00:00", not "8.00:00:00"',
      ].join('\n'),
    );
  });

  it.each([
    [{ queueName: 'orders', poisonQueueName: 'orders' }, 'poisonQueueName must be another queue'],
    [{}, 'its queueTrigger needs a queueName'],
    [{ queueName: 'a'.repeat(60) }, 'set poisonQueueName'],
    ['orders', 'its queueTrigger must be an object'],
  ])('are refused: %j', (binding, problem) => {
    expect(() => trigger(binding)).toThrow(problem);
  });
});

describe('options of a queue output', () => {
  const output = (binding: unknown, section?: unknown) =>
    queueOutputOptions({ functionName: 'process-order', host: hostOf(section), binding });

  it('are its queue, and the encoding of host.json unless it has its own', () => {
    expect(output(orders)).toEqual({ queueName: 'orders', messageEncoding: 'base64' });
    expect(output(orders, { messageEncoding: 'none' }).messageEncoding).toBe('none');
    expect(output({ ...orders, messageEncoding: 'base64' }, { messageEncoding: 'none' }).messageEncoding).toBe(
      'base64',
    );
  });

  it('are refused with what is wrong', () => {
    expect(() => output({ queueName: '-' })).toThrow('its queue output: queueName must be');
  });
});

describe('extensions.queues of host.json', () => {
  it('is read with every problem, and names of keys that are not known', () => {
    expect(
      readQueueHostOptions({ batchsize: 33, maxDequeueCount: 0, batch_size: 1, leaseDuration: '00:00:10' }),
    ).toEqual({
      values: { leaseDuration: 10_000 },
      problems: [
        { key: 'batchSize', problem: 'must be a whole number from 1 to 32, not 33' },
        { key: 'maxDequeueCount', problem: 'must be a whole number from 1 to 2147483647, not 0' },
      ],
      warnings: [],
      unknownKeys: ['batch_size'],
    });
  });

  it.each([[undefined], [null], [{}], [{ batchSize: null }]])('may be missing: %j', (section) => {
    expect(readQueueHostOptions(section)).toEqual({ values: {}, problems: [], warnings: [], unknownKeys: [] });
  });

  it('replaces time spans that Azure accepts: bare numbers are days, and milliseconds of older hosts become years', () => {
    expect(readQueueHostOptions({ maxPollingInterval: 2_000, visibilityTimeout: 1 })).toEqual({
      values: { maxPollingInterval: 86_400_000, visibilityTimeout: 86_400_000 },
      problems: [],
      warnings: [
        { key: 'maxPollingInterval', problem: 'is a time span of 2000 d; "1.00:00:00" is used' },
        { key: 'visibilityTimeout', problem: 'is a time span of 1 d; "1.00:00:00" is used' },
      ],
      unknownKeys: [],
    });
    for (const value of ['soon', Object.create(null), -1, true])
      expect(readQueueHostOptions({ maxPollingInterval: value }).problems).toHaveLength(1);
  });
});
