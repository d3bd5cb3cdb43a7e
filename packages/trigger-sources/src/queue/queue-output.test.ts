import { describe, expect, it } from 'vitest';
import { serviceError } from '../testing/memory-queue-account.js';
import { QueueBench } from './queue-bench.test.fixture.js';

const never = new AbortController().signal;

describe('a queue output', () => {
  it('sends every message, each as it is on the wire', async () => {
    const bench = new QueueBench();
    await bench.queue.send('text', Buffer.from([1, 2]), '');
    expect(bench.queue.account.messages('orders').map(({ text }) => text)).toEqual(['dGV4dA==', 'AQI=', '']);
    expect(bench.kinds('queue.sent')).toMatchObject([{ messages: 3 }]);
  });

  it('makes its queue once when there is none', async () => {
    const bench = new QueueBench();
    bench.queue.account.delete('orders');
    await bench.queue.send(...Array.from({ length: 100 }, (_, n) => `m${n}`));
    expect(bench.queue.bodies).toHaveLength(100);
    expect(bench.times('create')).toHaveLength(1);
    expect(bench.kinds('queue.created')).toMatchObject([{ queue: 'orders' }]);
  });

  it('sends nothing when one of the messages cannot be sent', async () => {
    const bench = new QueueBench();
    await expect(bench.queue.send('fine', 'x'.repeat(70_000))).rejects.toMatchObject({
      code: 'QUEUE_MESSAGE_UNSENDABLE',
    });
    expect(bench.queue.bodies).toEqual([]);
  });

  it('asks the service for nothing when there is nothing to send', async () => {
    const bench = new QueueBench();
    await bench.queue.send();
    expect(bench.operations).toEqual([]);
  });

  it('tries again while the service is away, and gives up with its reason', async () => {
    const bench = new QueueBench();
    let failures = 3;
    bench.trouble = () => {
      if (failures-- > 0) throw serviceError('ServerBusy', 503);
    };
    const sent = bench.queue.send('patient');
    await bench.clock.advance(10_000);
    await sent;
    failures = Infinity;
    const outcome = bench.queue.send('hopeless').catch((error: unknown) => error);
    await bench.clock.advance(60_000);
    expect(await outcome).toMatchObject({
      code: 'QUEUE_UNAVAILABLE',
      retryable: true,
      message: 'Queue orders is unavailable (send): ServerBusy (503)',
    });
    expect(bench.queue.bodies).toEqual(['patient']);
  });

  it('does not try again what will never be taken', async () => {
    const bench = new QueueBench();
    bench.trouble = () => {
      throw serviceError('AuthenticationFailed', 403);
    };
    await expect(bench.queue.send('x')).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    expect(bench.times('send')).toHaveLength(1);
  });

  it('stops with its signal', async () => {
    const bench = new QueueBench();
    bench.trouble = () => new Promise(() => undefined);
    const abort = new AbortController();
    const sent = bench.queue.output().send([{ body: 'x' }], abort.signal);
    await bench.settled();
    abort.abort(new Error('the invocation is over'));
    await expect(sent).rejects.toThrow('the invocation is over');
    expect(bench.clock.pending).toBe(0);
  });

  it('wakes listeners of its queue, and no others', async () => {
    const bench = new QueueBench();
    let woken = 0;
    const unlisten = bench.queue.wakeups.listen('memory/orders', () => (woken += 1));
    bench.queue.wakeups.listen('memory/others', () => expect.unreachable());
    await bench.queue.send('a', 'b');
    expect(woken).toBe(1);
    unlisten();
    await bench.queue.output().send([{ body: 'c' }], never);
    expect(woken).toBe(1);
  });
});
