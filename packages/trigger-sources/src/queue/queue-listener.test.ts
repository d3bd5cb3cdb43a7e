import { describe, expect, it } from 'vitest';
import { serviceError } from '../testing/memory-queue-account.js';
import { QueueBench } from './queue-bench.test.fixture.js';
import { queueListenerStates } from './queue-listener.js';

const complete = { kind: 'complete' } as const;
const never = new AbortController().signal;

/** A listener whose request for messages is on its way while something happens to it. */
async function withRequestUnderWay() {
  const bench = new QueueBench();
  await bench.queue.send('in between');
  let answer: () => void = () => undefined;
  bench.trouble = (operation) => (operation === 'receive' ? new Promise((resolve) => (answer = resolve)) : undefined);
  const listener = await bench.start();
  return {
    bench,
    listener,
    answer: (): Promise<void> => {
      bench.trouble = () => undefined;
      answer();
      return bench.settled();
    },
  };
}

describe('a paused queue listener', () => {
  it('keeps what was on its way, unstarted and ours, until it resumes', async () => {
    const { bench, listener, answer } = await withRequestUnderWay();
    listener.pause();
    await answer();
    await bench.clock.advance(3_600_000);
    expect(bench.held).toEqual([]);
    expect(bench.times('hide').length).toBeGreaterThan(10);
    listener.resume();
    await bench.settled();
    expect(bench.held[0]?.delivery.deliveryCount).toBe(1);
    await bench.held[0]?.settle(complete);
    expect(bench.queue.bodies).toEqual([]);
  });

  it('gives that back when it is drained instead', async () => {
    const { bench, listener, answer } = await withRequestUnderWay();
    listener.pause();
    await answer();
    await listener.drain(never);
    expect(bench.kinds('queue.released')).toMatchObject([{ started: false }]);
    expect(bench.held).toEqual([]);
    expect((await listener.measure(never)).waiting).toBe(1);
  });

  it('asks for nothing, also when it is woken', async () => {
    const bench = new QueueBench();
    const listener = await bench.start();
    listener.pause();
    await bench.clock.advance(60_000);
    const asked = bench.times('receive').length;
    await bench.queue.send('not yet');
    await bench.clock.advance(600_000);
    expect(bench.times('receive')).toHaveLength(asked);
    listener.resume();
    await bench.settled();
    expect(bench.held).toHaveLength(1);
  });

  it('ignores a pause and a resume at times at which they mean nothing', async () => {
    const bench = new QueueBench();
    const listener = bench.queue.listener(bench.hold);
    listener.pause();
    listener.resume();
    await listener.start(never);
    listener.resume();
    await listener.stop();
    listener.pause();
    listener.resume();
    expect(bench.kinds('queue.listener')).toMatchObject([{ state: 'listening' }, { state: 'stopped' }]);
  });
});

describe('a queue listener that goes away', () => {
  it('gives back what was on its way when it drains', async () => {
    const { bench, listener, answer } = await withRequestUnderWay();
    const drained = listener.drain(never);
    await answer();
    await drained;
    expect(bench.held).toEqual([]);
    expect((await listener.measure(never)).waiting).toBe(1);
  });

  it('gives back what was on its way when it stops', async () => {
    const { bench, listener, answer } = await withRequestUnderWay();
    const stopped = listener.stop();
    await answer();
    await stopped;
    expect(bench.kinds('queue.released')).toMatchObject([{ started: false }]);
    expect((await listener.measure(never)).waiting).toBe(1);
  });

  it('gives back at once what still runs when it stops, and takes no outcome for it any more', async () => {
    const bench = new QueueBench();
    await bench.queue.send('a', 'b');
    const listener = await bench.start();
    await listener.stop();
    expect(bench.held.map(({ lost }) => lost.aborted)).toEqual([true, true]);
    expect(bench.kinds('queue.released')).toMatchObject([{ started: true }, { started: true }]);
    for (const { settle } of bench.held) await settle(complete);
    expect(bench.queue.bodies).toEqual(['a', 'b']);
    expect(await listener.measure(never)).toMatchObject({ waiting: 2 });
  });

  it('lets what is being settled come to its end', async () => {
    const bench = new QueueBench();
    await bench.queue.send('nearly done');
    const listener = await bench.start();
    let goOn: () => void = () => undefined;
    bench.trouble = (operation) => (operation === 'remove' ? new Promise((resolve) => (goOn = resolve)) : undefined);
    await bench.held[0]?.settle(complete);
    const stopped = listener.stop();
    await bench.clock.advance(1_000);
    goOn();
    await stopped;
    expect(bench.kinds('queue.completed')).toHaveLength(1);
    expect(bench.queue.bodies).toEqual([]);
  });

  it('waits no longer than five seconds for a service that does not answer, and leaves no timer', async () => {
    const bench = new QueueBench();
    await bench.queue.send('a');
    const listener = await bench.start();
    bench.trouble = () => new Promise(() => undefined);
    let isStopped = false;
    const stopped = listener.stop().then(() => (isStopped = true));
    await bench.clock.advance(4_999);
    expect(isStopped).toBe(false);
    await bench.clock.advance(1);
    await stopped;
    expect(bench.clock.pending).toBe(0);
    expect(bench.kinds('queue.settlement-failed')).toHaveLength(1);
  });

  it('waits no longer than five seconds for a service that takes nothing', async () => {
    const bench = new QueueBench();
    await bench.queue.send('done, but not deleted');
    const listener = await bench.start();
    bench.trouble = (operation) => {
      if (operation === 'remove') throw serviceError('InternalError', 500);
    };
    await bench.held[0]?.settle(complete);
    const stopped = listener.stop();
    await bench.clock.advance(5_000);
    await stopped;
    expect(bench.clock.pending).toBe(0);
    expect(bench.kinds('queue.settlement-failed')).toHaveLength(1);
  });

  it('leaves no timer behind in any case', async () => {
    const bench = new QueueBench();
    await bench.queue.send('a', 'b', 'c');
    const listener = await bench.start();
    await bench.held[0]?.settle({ kind: 'abandon', delayMs: 60_000 });
    await bench.held[1]?.settle(complete);
    await listener.drain(AbortSignal.abort());
    await listener.stop();
    await bench.settled();
    expect(bench.clock.pending).toBe(0);
  });
});

describe('measuring a queue', () => {
  it('counts what waits and leaves out what this listener works on', async () => {
    const bench = new QueueBench({ batchSize: 2, newBatchThreshold: 0 });
    await bench.queue.send('a', 'b', 'c', 'd', 'e');
    const listener = await bench.start();
    await bench.clock.advance(4_000);
    expect(await listener.measure(never)).toMatchObject({ waiting: 3, oldestAgeMs: 4_000, targetPerWorker: 2 });
  });

  it('counts arrivals between measurements, received ones included', async () => {
    const bench = new QueueBench({ batchSize: 2, newBatchThreshold: 0 });
    await bench.queue.send('a', 'b');
    const listener = await bench.start();
    expect((await listener.measure(never)).arrivalsPerSecond).toBeUndefined();
    await bench.queue.send('c', 'd', 'e', 'f');
    await bench.held[0]?.settle({ kind: 'complete' });
    await bench.held[1]?.settle({ kind: 'complete' });
    await bench.clock.advance(2_000);
    expect((await listener.measure(never)).arrivalsPerSecond).toBeCloseTo(2, 1);
  });

  it('finds nothing where everything is put off, in hand, or the queue missing', async () => {
    const bench = new QueueBench();
    await bench.queue.send('a', 'b');
    const listener = await bench.start();
    await bench.held[0]?.settle({ kind: 'abandon', delayMs: 60_000 });
    expect(await listener.measure(never)).toMatchObject({ waiting: 0, oldestAgeMs: undefined });
    bench.queue.account.delete('orders');
    expect(await listener.measure(never)).toMatchObject({ waiting: 0, oldestAgeMs: undefined });
  });

  it('fails with the reason when the service does', async () => {
    const bench = new QueueBench();
    const listener = bench.queue.listener(bench.hold);
    bench.trouble = () => {
      throw serviceError('AuthenticationFailed', 403);
    };
    await expect(listener.measure(never)).rejects.toMatchObject({
      code: 'QUEUE_UNAVAILABLE',
      message: 'Queue orders is unavailable (measure): AuthenticationFailed (403)',
    });
  });
});

describe('the states of a queue listener', () => {
  it('end with stopped, from each of the others', () => {
    for (const state of queueListenerStates.all.filter((name) => name !== 'stopped'))
      expect(queueListenerStates.canMove(state, 'stopped')).toBe(true);
    expect(queueListenerStates.isFinal('stopped')).toBe(true);
  });
});
