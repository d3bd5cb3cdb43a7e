import { seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { serviceError } from '../testing/memory-queue-account.js';
import { QueueBench } from './queue-bench.test.fixture.js';
import { QueueListener } from './queue-listener.js';

const complete = { kind: 'complete' } as const;

describe('a queue listener asks for messages', () => {
  it('again at once while some come', async () => {
    const bench = new QueueBench({ batchSize: 2 });
    await bench.queue.send('a', 'b', 'c', 'd', 'e');
    const seen: string[] = [];
    await bench.start(async ({ data }) => {
      seen.push(String(data));
      return complete;
    });
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(bench.clock.monotonicMs()).toBe(0);
    expect(bench.queue.bodies).toEqual([]);
  });

  it('later and later while none come, and no later than it may', async () => {
    const bench = new QueueBench({ maxPollingIntervalMs: 1_000 });
    await bench.start();
    await bench.clock.advance(5_000);
    const asked = bench.times('receive');
    const pauses = asked.slice(1).map((atMs, index) => atMs - (asked[index] ?? 0));
    const between = (least: number, most: number) => expect.toSatisfy((ms: number) => ms >= least && ms <= most);
    expect(pauses.slice(0, 6)).toEqual([
      100,
      between(180, 220),
      between(260, 340),
      between(420, 580),
      between(740, 1_000),
      1_000,
    ]);
  });

  it('at once when an output of this process sends', async () => {
    const bench = new QueueBench();
    await bench.start();
    await bench.clock.advance(120_000);
    await bench.queue.send('now');
    await bench.settled();
    expect(bench.held.map(({ delivery }) => delivery.data)).toEqual(['now']);
    expect(bench.clock.monotonicMs()).toBe(120_000);
  });

  it('at once when an output has begun to send to an emulator, if it is idle', async () => {
    const bench = new QueueBench();
    const { wakeups } = bench.queue;
    await bench.start();
    await bench.clock.advance(120_000);
    wakeups.wake = () => undefined; // the response to the request is on its way
    await bench.queue.send('now');
    await bench.settled();
    expect(bench.held).toEqual([]);
    expect(wakeups.announce('memory/orders')).toBe(true);
    expect(wakeups.announce('memory/others')).toBe(false);
    await bench.settled();
    expect(bench.held.map(({ delivery }) => delivery.data)).toEqual(['now']);
  });

  it('when an emulator tells, and not in a hot loop if the emulator is wrong', async () => {
    const bench = new QueueBench();
    let onWork: () => void = () => undefined;
    let [asked, ended] = [0, 0];
    const { account, options, wakeups } = bench.queue;
    const listener = new QueueListener({
      functionName: 'process-order',
      account,
      options,
      deliver: bench.hold,
      wakeups,
      subscribe: (tell) => {
        onWork = tell;
        return {
          ask: () => {
            asked += 1;
            void Promise.resolve().then(onWork);
          },
          end: () => (ended += 1),
        };
      },
      clock: bench.clock,
      randomness: seededRandomness(1),
      observe: () => undefined,
    });
    await listener.start(new AbortController().signal);
    await bench.settled();
    expect([asked, bench.times('receive').length]).toEqual([3, 4]);
    await bench.clock.advance(60_000);
    expect(bench.times('receive').length).toBeLessThan(100);
    await listener.stop();
    expect(ended).toBe(1);
  });

  it('when it is time for a message that it had put off, whatever the pause', async () => {
    const bench = new QueueBench();
    await bench.start();
    await bench.clock.advance(120_000);
    await bench.queue.send('later');
    await bench.settled();
    await bench.held[0]?.settle({ kind: 'abandon', delayMs: 7_000 });
    await bench.clock.advance(6_999);
    expect(bench.held).toHaveLength(1);
    await bench.clock.advance(1);
    expect(bench.held).toHaveLength(2);
  });

  it('begins with short pauses again after something came', async () => {
    const bench = new QueueBench();
    await bench.start(() => Promise.resolve(complete));
    await bench.clock.advance(120_000);
    await bench.queue.send('news');
    await bench.settled();
    bench.operations.length = 0;
    await bench.clock.advance(1_000);
    expect(bench.times('receive')[0]).toBe(120_100);
  });

  it('a little later again when a message that it had put off is not there in time', async () => {
    const bench = new QueueBench();
    await bench.start();
    await bench.clock.advance(120_000);
    await bench.queue.send('unpunctual');
    await bench.settled();
    await bench.held[0]?.settle({ kind: 'abandon', delayMs: 60_000 });
    const [stored] = bench.queue.account.messages('orders') as readonly { visibleAt: number }[]; // the service's own
    if (stored) stored.visibleAt += 150;
    await bench.clock.advance(60_500);
    expect(bench.held).toHaveLength(2);
  });

  it('until it is stopped: then a send does not wake it any more', async () => {
    const bench = new QueueBench();
    const { wakeups } = bench.queue;
    let listening = 0;
    const listen = wakeups.listen.bind(wakeups);
    wakeups.listen = (address, wake) => {
      const unlisten = listen(address, wake);
      listening += 1;
      return () => {
        listening -= 1;
        unlisten();
      };
    };
    const listener = await bench.start();
    expect(listening).toBe(1);
    await listener.stop();
    expect(listening).toBe(0);
  });

  it('for each of the function workers that there are, at once when there are more', async () => {
    const bench = new QueueBench({ batchSize: 3, newBatchThreshold: 2 });
    await bench.queue.send(...Array.from({ length: 40 }, (_, n) => String(n)));
    const listener = await bench.start();
    expect(bench.held).toHaveLength(3);
    listener.scale(3);
    await bench.settled();
    expect(bench.held.length).toBeGreaterThan(10);
    expect(bench.held.length).toBeLessThanOrEqual(15);
    const most = bench.held.length;
    listener.scale(1);
    for (const { settle } of bench.held.slice(0, most - 3)) await settle(complete);
    await bench.settled();
    expect(bench.held).toHaveLength(most); // three still run
    await bench.held.at(-1)?.settle(complete);
    await bench.settled();
    expect(bench.held).toHaveLength(most + 3);
  });

  it('for no more than batchSize at a time, and only when no more than newBatchThreshold run', async () => {
    const bench = new QueueBench({ batchSize: 3, newBatchThreshold: 2 });
    await bench.queue.send('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
    await bench.start();
    expect(bench.held).toHaveLength(3);
    await bench.held[0]?.settle(complete);
    expect(bench.held).toHaveLength(6); // five of them in hand: as many as there may ever be
    await bench.held[1]?.settle(complete);
    await bench.held[2]?.settle(complete);
    expect(bench.held).toHaveLength(6);
    await bench.held[3]?.settle(complete);
    expect(bench.held).toHaveLength(8);
  });

  it('one by one with a batch of one and no threshold', async () => {
    const bench = new QueueBench({ batchSize: 1, newBatchThreshold: 0 });
    await bench.queue.send('a', 'b');
    await bench.start();
    expect(bench.held).toHaveLength(1);
    await bench.held[0]?.settle(complete);
    expect(bench.held).toHaveLength(2);
  });
});

describe('a queue that does not exist', () => {
  it('is waited for, not made, and named once', async () => {
    const bench = new QueueBench();
    bench.queue.account.delete('orders');
    await bench.start();
    await bench.clock.advance(300_000);
    expect(bench.queue.account.exists('orders')).toBe(false);
    expect(bench.kinds('queue.missing', 'queue.unavailable')).toEqual([
      { kind: 'queue.missing', functionName: 'process-order', queue: 'orders' },
    ]);
    await bench.queue.send('first');
    await bench.settled();
    expect(bench.held).toHaveLength(1);
    expect(bench.kinds('queue.created', 'queue.available')).toHaveLength(2);
  });
});

describe('a service that fails', () => {
  it('is asked again, later and later, and complained about once', async () => {
    const bench = new QueueBench();
    bench.trouble = () => {
      throw serviceError('InternalError', 500);
    };
    await bench.start();
    await bench.clock.advance(600_000);
    expect(bench.kinds('queue.unavailable')).toMatchObject([{ failure: 'unavailable' }]);
    const asked = bench.times('receive');
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.length).toBeLessThan(60);
    bench.trouble = () => undefined;
    await bench.clock.advance(30_000);
    expect(bench.kinds('queue.available')).toHaveLength(1);
    bench.operations.length = 0;
    bench.trouble = () => {
      throw serviceError('ServerBusy', 503);
    };
    await bench.clock.advance(120_000);
    const [first = 0, second = 0] = bench.times('receive');
    expect(second - first).toBeLessThanOrEqual(200);
    expect(bench.kinds('queue.unavailable')).toMatchObject([{ failure: 'unavailable' }, { failure: 'throttled' }]);
  });

  it('is complained about again when the reason changes', async () => {
    const bench = new QueueBench();
    let error = serviceError('ECONNREFUSED', 500);
    bench.trouble = () => {
      throw error;
    };
    await bench.start();
    await bench.clock.advance(60_000);
    error = serviceError('AuthenticationFailed', 403);
    await bench.clock.advance(120_000);
    expect(bench.kinds('queue.unavailable')).toMatchObject([{ failure: 'unavailable' }, { failure: 'denied' }]);
  });

  it('is given up on when it does not answer, and asked again', async () => {
    const bench = new QueueBench();
    bench.trouble = () => new Promise(() => undefined);
    await bench.start();
    await bench.clock.advance(30_000);
    bench.trouble = () => undefined;
    await bench.queue.send('patience');
    await bench.clock.advance(500);
    expect(bench.held).toHaveLength(1);
    expect(bench.kinds('queue.unavailable')).toHaveLength(1);
  });
});
