import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { azuriteConnectionString, startAzurite, type Azurite } from '../testing/azurite.js';
import { startQueueVictim } from '../testing/victims.js';
import { triggerListenerContract } from '../testing/trigger-listener-contract.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import { AzureBench } from './azure-bench.test.fixture.js';
import type { QueueListener } from './queue-listener.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());

triggerListenerContract('storage queue', async () => {
  const { connectionString } = azurite;
  const bench = new AzureBench(connectionString, { leaseDuration: '00:00:03', maxDequeueCount: 4 });
  const { options, queue, poison } = bench;
  await Promise.all([queue.create(never), poison.create(never)]);
  return {
    maxDeliveries: 4,
    shortestDelayMs: 1_000,
    listener: (deliver) => bench.listener(deliver),
    send: (bodies) => bench.send(...bodies),
    async putAside() {
      const messages = await poison.receive({ count: 32, leaseMs: 1_000 }, never);
      return messages.map(({ text }) => Buffer.from(text, 'base64').toString());
    },
    remaining: () => queue.count(never),
    victim: () => startQueueVictim({ connectionString, options, settles: 'nothing' }),
    close: () => Promise.resolve(),
  };
});

describe('a queue listener at a real service', () => {
  const started: QueueListener[] = [];
  const listen = async (bench: AzureBench, deliver: Deliver): Promise<QueueListener> => {
    const listener = bench.listener(deliver);
    started.push(listener);
    await listener.start(never);
    return listener;
  };
  afterEach(async () => {
    await Promise.all(started.splice(0).map((listener) => listener.stop()));
  });

  it('hands over text and metadata', async () => {
    const bench = new AzureBench(azurite.connectionString);
    await bench.send('{"id":5,"text":"<ü&🙂>"}');
    const seen: Delivery[] = [];
    await listen(bench, async (delivery) => {
      seen.push(delivery);
      return complete;
    });
    await eventually(() => seen.length === 1);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
    expect(seen[0]).toEqual({
      data: '{"id":5,"text":"<ü&🙂>"}',
      metadata: {
        QueueTrigger: '{"id":5,"text":"<ü&🙂>"}',
        DequeueCount: 1,
        ExpirationTime: time,
        InsertionTime: time,
        NextVisibleTime: time,
        Id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        PopReceipt: expect.stringMatching(/./),
      },
      deliveryCount: 1,
      traceparent: undefined,
    });
  });

  it('hands over bytes as they were, and text without an encoding', async () => {
    const binary = new AzureBench(azurite.connectionString, { dataType: 'binary' });
    const plain = new AzureBench(azurite.connectionString, { messageEncoding: 'none' });
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
    await Promise.all([binary.send(bytes), plain.send('no base64, <but> "text"')]);
    const seen: unknown[] = [];
    const deliver: Deliver = async ({ data }) => {
      seen.push(data);
      return complete;
    };
    await listen(binary, deliver);
    await eventually(() => seen.length === 1);
    await listen(plain, deliver);
    await eventually(() => seen.length === 2);
    expect(seen).toEqual([bytes, 'no base64, <but> "text"']);
  });

  it('keeps a message that runs longer than its lease', async () => {
    const bench = new AzureBench(azurite.connectionString, { leaseDuration: '00:00:03' });
    await bench.send('long');
    const [leaseMs, runs] = [3_000, [] as number[]];
    let settle: (settlement: Settlement) => void = () => undefined;
    const startedAt = performance.now();
    await listen(bench, ({ deliveryCount }) => {
      runs.push(deliveryCount);
      return new Promise((resolve) => (settle = resolve));
    });
    await eventually(() => performance.now() - startedAt > 2.2 * leaseMs);
    expect(runs).toEqual([1]);
    settle(complete);
    await eventually(async () => (await bench.queue.count(never)) === 0);
    expect(bench.kinds('queue.lease-lost', 'queue.redelivered')).toEqual([]);
  });

  it('creates the configured poison queue on demand, and wakes its listeners', async () => {
    const bench = new AzureBench(azurite.connectionString, { poisonQueueName: `rejected-${Date.now()}` });
    const rejected = new AzureBench(azurite.connectionString, { queueName: bench.options.poisonQueueName });
    await bench.send('bad');
    const seen: unknown[] = [];
    await listen(rejected, async ({ data }) => {
      seen.push(data);
      return complete;
    });
    await listen(bench, async () => ({ kind: 'deadLetter', reason: 'wrong' }));
    await eventually(() => expect(seen).toEqual(['bad']));
    await eventually(() => expect(bench.kinds('queue.created', 'queue.poisoned')).toHaveLength(3));
    expect(bench.kinds('queue.poisoned')).toMatchObject([
      { reason: 'wrong', poisonQueue: bench.options.poisonQueueName },
    ]);
  });

  it('never lets a message in the poison queue expire', async () => {
    const bench = new AzureBench(azurite.connectionString);
    await bench.send('bad');
    await listen(bench, async () => ({ kind: 'deadLetter', reason: 'wrong' }));
    await eventually(() => bench.kinds('queue.poisoned').length === 1);
    const [copy] = await bench.poison.receive({ count: 1, leaseMs: 1_000 }, never);
    expect(copy?.expiresOn.getUTCFullYear()).toBe(9999);
  });

  it('wakes at once what waits in the same process', async () => {
    const bench = new AzureBench(azurite.connectionString, { maxPollingInterval: '01:00:00' });
    await bench.queue.create(never);
    const seen: unknown[] = [];
    await listen(bench, async ({ data }) => {
      seen.push(data);
      return complete;
    });
    await bench.send('one');
    await eventually(() => expect(seen).toEqual(['one']));
  });

  it('does not take a wrong key for an end: it says so once, and goes on asking', async () => {
    const wrong = azuriteConnectionString(azurite.url, Buffer.from('another key').toString('base64'));
    const bench = new AzureBench(wrong);
    const listener = await listen(bench, async () => complete);
    await eventually(() => bench.kinds('queue.unavailable').length === 1);
    expect(bench.kinds('queue.unavailable')).toMatchObject([{ failure: 'denied' }]);
    await expect(listener.measure(never)).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    await expect(bench.send('x')).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
  });
});
