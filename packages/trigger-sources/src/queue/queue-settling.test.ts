import { describe, expect, it } from 'vitest';
import { serviceError } from '../testing/memory-queue-account.js';
import { QueueBench } from './queue-bench.test.fixture.js';

const complete = { kind: 'complete' } as const;
const abandon = { kind: 'abandon' } as const;

async function withOneHeld(...args: ConstructorParameters<typeof QueueBench>): Promise<QueueBench> {
  const bench = new QueueBench(...args);
  await bench.queue.send('order 1');
  await bench.start();
  expect(bench.held).toHaveLength(1);
  bench.operations.length = 0;
  return bench;
}

describe('settling a message', () => {
  it('deletes what is complete, and says so', async () => {
    const bench = await withOneHeld();
    await bench.held[0]?.settle(complete);
    expect(bench.queue.bodies).toEqual([]);
    expect(bench.kinds('queue.completed')).toMatchObject([{ messageId: 'message-1', deliveryCount: 1 }]);
  });

  it('hides what is abandoned for the visibility timeout, and says when it comes again', async () => {
    const bench = await withOneHeld({ visibilityTimeoutMs: 30_000 });
    await bench.held[0]?.settle(abandon);
    expect(bench.kinds('queue.abandoned')).toMatchObject([{ delayMs: 30_000 }]);
    await bench.clock.advance(29_999);
    expect(bench.held).toHaveLength(1);
    await bench.clock.advance(1);
    expect(bench.held[1]?.delivery.deliveryCount).toBe(2);
    expect(bench.kinds('queue.redelivered')).toMatchObject([{ deliveryCount: 2 }]);
  });

  it('copies poison to its queue, made on demand, and deletes it only then; the copy never expires', async () => {
    const bench = await withOneHeld();
    await bench.held[0]?.settle({ kind: 'deadLetter', reason: 'no such customer' });
    expect(bench.operations.map(({ operation, queue }) => `${operation} ${queue}`)).toEqual([
      'send orders-poison',
      'create orders-poison',
      'send orders-poison',
      'remove orders',
    ]);
    expect(bench.queue.poisoned).toEqual(['order 1']);
    const [copy] = bench.queue.account.messages('orders-poison');
    expect(copy?.expiresOn.getUTCFullYear()).toBe(9999);
    expect(bench.kinds('queue.poisoned')).toMatchObject([
      { messageId: 'message-1', poisonQueue: 'orders-poison', reason: 'no such customer' },
    ]);
  });

  it('wakes listeners of the poison queue in this process', async () => {
    const bench = await withOneHeld();
    let woken = 0;
    bench.queue.wakeups.listen('memory/orders-poison', () => (woken += 1));
    await bench.held[0]?.settle({ kind: 'deadLetter', reason: 'bad' });
    expect(woken).toBe(1);
  });

  it('copies the text as it came, whatever it was taken for', async () => {
    const bench = new QueueBench();
    const signal = new AbortController().signal;
    await bench.queue.account.queue('orders').send('no base64!', { keep: 'by-default' }, signal);
    await bench.start(() => Promise.resolve({ kind: 'deadLetter', reason: 'bad' }));
    expect(bench.queue.account.messages('orders-poison')[0]?.text).toBe('no base64!');
    expect(bench.kinds('queue.not-base64')).toHaveLength(1);
  });

  it('says only once that messages are no base64', async () => {
    const bench = new QueueBench();
    const queue = bench.queue.account.queue('orders');
    for (const text of ['one!', 'two!']) await queue.send(text, { keep: 'by-default' }, new AbortController().signal);
    await bench.start();
    expect(bench.held.map(({ delivery }) => delivery.data)).toEqual(['one!', 'two!']);
    expect(bench.kinds('queue.not-base64')).toHaveLength(1);
  });

  it('makes poison of what came too often without being settled, and does not run it', async () => {
    const bench = new QueueBench({ maxDequeueCount: 2, leaseMs: 1_000 });
    await bench.queue.send('crasher');
    const queue = bench.queue.account.queue('orders');
    for (let n = 0; n < 2; n++) {
      await queue.receive({ count: 1, leaseMs: 1_000 }, new AbortController().signal);
      await bench.clock.advance(1_000);
    }
    await bench.start();
    expect(bench.held).toEqual([]);
    expect(bench.queue.poisoned).toEqual(['crasher']);
  });

  it('leaves what fails in a poison queue hidden for the rest of its lease', async () => {
    const bench = await withOneHeld({ poisonQueueName: undefined, leaseMs: 60_000 });
    await bench.held[0]?.settle(abandon);
    expect(bench.times('hide')).toEqual([]);
    await bench.clock.advance(59_999);
    expect(bench.held).toHaveLength(1);
    await bench.clock.advance(60_001);
    expect(bench.held[1]?.delivery.deliveryCount).toBe(2);
  });

  it('tries again while the message is ours and the service is away', async () => {
    const bench = await withOneHeld();
    bench.trouble = (operation) => {
      if (operation === 'remove') throw serviceError('InternalError', 500);
    };
    await bench.held[0]?.settle(complete);
    await bench.clock.advance(60_000);
    expect(bench.queue.bodies).toHaveLength(1);
    expect(bench.kinds('queue.completed', 'queue.settlement-failed')).toEqual([]);
    bench.trouble = () => undefined;
    await bench.clock.advance(5_000);
    expect(bench.queue.bodies).toEqual([]);
    expect(bench.kinds('queue.completed')).toHaveLength(1);
    expect(bench.held).toHaveLength(1);
  });

  it('does not copy poison a second time when only deleting it fails', async () => {
    const bench = await withOneHeld();
    bench.queue.account.create('orders-poison');
    let failures = 3;
    bench.trouble = (operation) => {
      if (operation === 'remove' && failures-- > 0) throw serviceError('InternalError', 500);
    };
    await bench.held[0]?.settle({ kind: 'deadLetter', reason: 'bad' });
    await bench.clock.advance(10_000);
    expect(bench.queue.poisoned).toEqual(['order 1']);
    expect(bench.queue.bodies).toEqual([]);
  });

  it('gives up when the lease ends, says so, and the message runs again', async () => {
    const bench = await withOneHeld({ leaseMs: 10_000 });
    bench.trouble = (operation) => {
      if (operation === 'remove') throw serviceError('InternalError', 500);
    };
    await bench.held[0]?.settle(complete);
    await bench.clock.advance(20_000);
    expect(bench.kinds('queue.settlement-failed')).toMatchObject([{ action: 'delete' }]);
    bench.trouble = () => undefined;
    await bench.clock.advance(60_000);
    expect(bench.held[1]?.delivery.deliveryCount).toBe(2);
  });

  it('keeps poison where it is when it cannot be put aside', async () => {
    const bench = await withOneHeld({ leaseMs: 10_000 });
    bench.trouble = (_, queue) => {
      if (queue === 'orders-poison') throw serviceError('InvalidResourceName', 400);
    };
    await bench.held[0]?.settle({ kind: 'deadLetter', reason: 'bad' });
    expect(bench.kinds('queue.settlement-failed')).toMatchObject([{ action: 'copy to orders-poison' }]);
    expect(bench.queue.bodies).toEqual(['order 1']);
  });

  it('takes a message that is gone for settled: the answer to an earlier request may have got lost', async () => {
    const bench = await withOneHeld();
    let isLost = false;
    bench.trouble = async (operation) => {
      if (operation !== 'remove' || isLost) return;
      isLost = true;
      const { id, popReceipt } = bench.queue.account.messages('orders')[0] ?? { id: '', popReceipt: '' };
      await bench.queue.account.queue('orders').remove({ id, popReceipt }, new AbortController().signal);
      throw new Error('socket hang up');
    };
    await bench.held[0]?.settle(complete);
    await bench.clock.advance(1_000);
    expect(bench.kinds('queue.completed')).toHaveLength(1);
    expect(bench.kinds('queue.settlement-failed')).toEqual([]);
  });
});

describe('a lease', () => {
  it('is renewed at half time for as long as the message runs', async () => {
    const bench = await withOneHeld({ leaseMs: 600_000 });
    await bench.clock.advance(3_600_000);
    expect(bench.times('hide')).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => n * 300_000));
    expect(bench.held).toHaveLength(1);
    await bench.held[0]?.settle(complete);
    expect(bench.queue.bodies).toEqual([]);
    await bench.clock.advance(3_600_000);
    expect(bench.times('hide')).toHaveLength(12);
  });

  it('is settled with the receipt of a renewal that was under way', async () => {
    const bench = await withOneHeld({ leaseMs: 60_000 });
    let answer: () => void = () => undefined;
    bench.trouble = (operation) => (operation === 'hide' ? new Promise((resolve) => (answer = resolve)) : undefined);
    await bench.clock.advance(30_000);
    await bench.held[0]?.settle(complete);
    expect(bench.times('remove')).toEqual([]);
    answer();
    await bench.settled();
    expect(bench.queue.bodies).toEqual([]);
    expect(bench.kinds('queue.lease-lost', 'queue.settlement-failed')).toEqual([]);
  });

  it('survives a service that is away for a while', async () => {
    const bench = await withOneHeld({ leaseMs: 60_000 });
    bench.trouble = (operation) => {
      if (operation === 'hide') throw serviceError('ServerBusy', 503);
    };
    await bench.clock.advance(55_000);
    expect(bench.held[0]?.lost.aborted).toBe(false);
    bench.trouble = () => undefined;
    await bench.clock.advance(300_000);
    expect(bench.held).toHaveLength(1);
    await bench.held[0]?.settle(complete);
    expect(bench.queue.bodies).toEqual([]);
  });

  it('is lost when it could not be renewed in time: the delivery is aborted and cannot settle the message', async () => {
    const bench = await withOneHeld({ leaseMs: 60_000 });
    bench.trouble = (operation) => {
      if (operation === 'hide') throw serviceError('InternalError', 500);
    };
    await bench.clock.advance(59_000);
    expect(bench.held[0]?.lost.aborted).toBe(false);
    await bench.clock.advance(2_000);
    expect(bench.held[0]?.lost.aborted).toBe(true);
    expect(bench.kinds('queue.lease-lost')).toMatchObject([{ messageId: 'message-1', deliveryCount: 1 }]);
    await bench.held[0]?.settle(complete);
    expect(bench.queue.bodies).toHaveLength(1);
    await bench.clock.advance(60_000);
    expect(bench.held[1]?.delivery.deliveryCount).toBe(2);
  });

  it('is lost at its end also when the service does not answer', async () => {
    const bench = await withOneHeld({ leaseMs: 20_000 });
    bench.trouble = (operation) => (operation === 'hide' ? new Promise(() => undefined) : undefined);
    await bench.clock.advance(21_000);
    expect(bench.held[0]?.lost.aborted).toBe(true);
  });

  it('is lost at once when another one has the message', async () => {
    const bench = await withOneHeld({ leaseMs: 60_000 });
    bench.trouble = (operation) => {
      if (operation === 'hide') throw serviceError('PopReceiptMismatch', 400);
    };
    await bench.clock.advance(30_000);
    expect(bench.held[0]?.lost.aborted).toBe(true);
    expect(bench.kinds('queue.lease-lost')).toHaveLength(1);
  });
});
