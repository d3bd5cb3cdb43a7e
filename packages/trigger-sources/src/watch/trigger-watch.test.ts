import { FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parkedQueue } from '../queue/parked-queue.js';
import { storageConnection } from '../storage/storage-connection.js';
import type { ParkedSource, ParkedTrigger } from '../parked-trigger.js';
import { timerExtension } from '../timer/timer-extension.js';
import { WatchBench } from './watch-bench.test.fixture.js';

const never = new AbortController().signal;
const minuteMs = 60_000;

let clock: FakeClock;
let bench: WatchBench;
beforeEach(() => {
  clock = new FakeClock();
  bench = new WatchBench(clock);
});
afterEach(() => bench.watch.close());

/** A source that has to be polled. */
class Polled implements ParkedSource {
  readonly kind = 'source';
  readonly key: string;
  readonly name = 'queue orders';
  readonly address: string;
  readonly notifications = undefined;
  readonly longestPollMs = 10_000;
  readonly looksAtMs: number[] = [];
  answer: () => Promise<boolean> = () => Promise.resolve(false);

  constructor(name = 'orders') {
    this.key = name;
    this.address = `http://account/${name}`;
  }

  async hasWork(): Promise<boolean> {
    this.looksAtMs.push(clock.monotonicMs());
    return await this.answer();
  }
}

describe('a source that has nothing better than polling', () => {
  it('is looked at at once, then at growing intervals up to the longest', async () => {
    const source = new Polled();
    bench.start(source);
    await clock.advance(0);
    expect(source.looksAtMs).toEqual([0]);
    await clock.advance(10 * minuteMs);
    const pauses = source.looksAtMs.slice(1).map((atMs, index) => atMs - (source.looksAtMs[index] ?? 0));
    expect(pauses[0]).toBeLessThanOrEqual(300);
    expect(pauses[3]).toBeGreaterThan(1_500);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(12_000);
    expect(source.looksAtMs.length).toBeLessThan(85);
  });

  it('notices work once, and is not looked at any more', async () => {
    const source = new Polled();
    const { noticed } = bench.start(source);
    await clock.advance(minuteMs);
    source.answer = () => Promise.resolve(true);
    await clock.advance(12_000);
    expect(noticed).toEqual([{ functionName: 'Run', by: 'poll' }]);
    const looks = source.looksAtMs.length;
    await clock.advance(10 * minuteMs);
    expect([noticed.length, source.looksAtMs.length, clock.pending]).toEqual([1, looks, 0]);
  });

  it('is looked at once for all applications that wait for it, and wakes them all', async () => {
    const source = new Polled();
    const watches = Array.from({ length: 50 }, () => bench.start(source));
    await clock.advance(minuteMs);
    expect(source.looksAtMs.length).toBeLessThan(15);
    source.answer = () => Promise.resolve(true);
    await clock.advance(12_000);
    expect(watches.map(({ noticed }) => noticed.length)).toEqual(Array(50).fill(1));
  });

  it('is polled less often the more there are: twenty looks per second for all', async () => {
    const sources = Array.from({ length: 1_000 }, (_, index) => new Polled(`queue-${index}`));
    for (const source of sources) bench.start(source);
    await clock.advance(minuteMs);
    const before = sources.reduce((sum, { looksAtMs }) => sum + looksAtMs.length, 0);
    await clock.advance(2 * minuteMs);
    const looks = sources.reduce((sum, { looksAtMs }) => sum + looksAtMs.length, 0) - before;
    expect(looks / 120).toBeGreaterThan(10);
    expect(looks / 120).toBeLessThan(27);
  });

  it('is not looked at by more than sixteen at a time', async () => {
    let running = 0;
    let most = 0;
    const answers: (() => void)[] = [];
    const answer = async (): Promise<boolean> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => answers.push(resolve));
      running -= 1;
      return false;
    };
    for (let index = 0; index < 100; index += 1) bench.start(Object.assign(new Polled(`queue-${index}`), { answer }));
    await clock.advance(0);
    expect([running, most]).toEqual([16, 16]);
    answers.splice(0, 10).forEach((resolve) => resolve());
    await clock.advance(0);
    expect([running, most]).toEqual([16, 16]);
    answers.splice(0).forEach((resolve) => resolve());
  });

  it('rests four times as long as a look at it takes', async () => {
    const source = new Polled();
    source.answer = () => new Promise((resolve) => clock.after(5_000, () => resolve(false)));
    bench.start(source);
    await clock.advance(minuteMs);
    expect(source.looksAtMs).toEqual([0, 25_000, 50_000]);
  });

  it('is asked again while it does not answer, which is reported once, and its work is noticed then', async () => {
    const source = new Polled();
    source.answer = () => Promise.reject(new Error('connect ECONNREFUSED'));
    const { noticed } = bench.start(source);
    await clock.advance(5_000);
    expect(bench.observed).toEqual([]);
    await clock.advance(2 * minuteMs);
    expect(bench.observed).toEqual([
      { kind: 'watch.check-failed', source: 'queue orders', reason: 'connect ECONNREFUSED' },
    ]);
    source.answer = () => Promise.resolve(false);
    await clock.advance(12_000);
    expect(bench.observed.map(({ kind }) => kind)).toEqual(['watch.check-failed', 'watch.check-recovered']);
    source.answer = () => Promise.resolve(true);
    await clock.advance(12_000);
    expect(noticed).toHaveLength(1);
  });

  it('that does not answer at all is given up after the time limit, and asked again', async () => {
    const source = new Polled();
    source.answer = () => new Promise(() => undefined);
    bench.start(source);
    await clock.advance(90_000);
    expect(source.looksAtMs).toHaveLength(3);
    expect(bench.observed.map(({ kind }) => kind)).toEqual(['watch.check-failed']);
  });

  it('is noticed at once when an output of this process writes to it', async () => {
    const source = new Polled();
    const { noticed } = bench.start(source);
    await clock.advance(minuteMs);
    bench.wakeups.wake('http://account/other');
    bench.wakeups.wake(source.address);
    expect(noticed).toEqual([{ functionName: 'Run', by: 'output' }]);
    bench.wakeups.wake(source.address);
    expect(noticed).toHaveLength(1);
  });
});

describe('an application with several triggers', () => {
  it('is woken once, by the first that has work', async () => {
    const [one, other] = [new Polled('one'), new Polled('other')];
    one.answer = other.answer = () => Promise.resolve(true);
    const noticed: string[] = [];
    const triggers = [
      { functionName: 'One', parked: one },
      { functionName: 'Other', parked: other },
      { functionName: 'Page', parked: { kind: 'requests' } as const },
    ];
    bench.watch.watch({ application: 'default/shop', triggers }, ({ functionName }) => noticed.push(functionName));
    expect(noticed).toEqual([]); // never before `watch` returns
    await clock.advance(minuteMs);
    expect(noticed).toEqual(['One']);
    expect(bench.observed).toEqual([
      { kind: 'watch.noticed', application: 'default/shop', functionName: 'One', by: 'poll' },
    ]);
  });

  it('may be watched again from the callback, as an application that was parked in between', async () => {
    const source = new Polled();
    source.answer = () => Promise.resolve(source.looksAtMs.length <= 3);
    let woken = 0;
    const watch = (): void => {
      bench.watch.watch({ application: 'a', triggers: [{ functionName: 'f', parked: source }] }, () => {
        woken += 1;
        watch();
      });
    };
    watch();
    await clock.advance(minuteMs);
    expect(woken).toBe(3);
  });
});

describe('a timer', () => {
  const park = (options: object, settings: Record<string, string> = {}): ParkedTrigger =>
    bench.park(timerExtension, { WEBSITE_TIME_ZONE: 'UTC', ...settings }, { name: 't', ...options });
  const stored = (value: object): Promise<unknown> =>
    bench.store.write(
      'timers/default/app/run',
      JSON.stringify({ holder: '', write: '1', state: JSON.stringify(value) }),
      undefined,
      never,
    );

  it('wakes its application a second before it is due', async () => {
    const { noticed } = bench.start(park({ schedule: '0 30 * * * *' }));
    await clock.advance(30 * minuteMs - 1_001);
    expect(noticed).toEqual([]);
    await clock.advance(1);
    expect(noticed).toEqual([{ functionName: 'Run', by: 'schedule' }]);
  });

  it('that was missed wakes its application at once', async () => {
    const next = new Date(clock.now() - minuteMs).toISOString();
    await stored({ schedule: 'every 300000 ms', last: null, next, lastUpdated: next });
    const { noticed } = bench.start(park({ schedule: '00:05:00' }));
    await clock.advance(0);
    expect(noticed).toHaveLength(1);
  });

  it('goes on with the stored occurrence of an interval, monitored or not', async () => {
    const next = new Date(clock.now() + 2 * minuteMs).toISOString();
    await stored({ schedule: 'every 300000 ms', last: null, next, lastUpdated: new Date(clock.now()).toISOString() });
    const monitored = bench.start(park({ schedule: '00:05:00' }));
    const unmonitored = bench.start(park({ schedule: '00:05:00', useMonitor: false }));
    await clock.advance(2 * minuteMs - 1_001);
    expect([monitored.noticed, unmonitored.noticed]).toEqual([[], []]);
    await clock.advance(1);
    expect([monitored.noticed.length, unmonitored.noticed.length]).toEqual([1, 1]);
  });

  it('is read again while the store does not answer', async () => {
    let failures = 2;
    const parked: ParkedTrigger = {
      kind: 'timer',
      dueAtMs: () => (failures-- > 0 ? Promise.reject(new Error('no store')) : Promise.resolve(clock.now() + 2_000)),
    };
    const { noticed } = bench.start(parked);
    await clock.advance(11_000);
    expect(noticed).toHaveLength(1);
  });

  it('that is not watched any more wakes nothing', async () => {
    const { noticed, end } = bench.start(park({ schedule: '0 30 * * * *' }));
    await clock.advance(minuteMs);
    end();
    await clock.advance(60 * minuteMs);
    expect([noticed.length, clock.pending]).toEqual([0, 0]);
  });
});

describe('credentials', () => {
  it('are shared by the same credentials only, and are in no key', () => {
    const parked = (key: string) =>
      parkedQueue({
        connection: storageConnection({
          service: 'queue',
          functionName: 'f',
          connection: 'S',
          settings: { S: `AccountName=shop;AccountKey=${key}` },
        }),
        options: { queueName: 'orders', maxPollingIntervalMs: 1_000 },
      }).key;
    expect(parked('b25l')).toBe(parked('b25l'));
    expect(parked('b25l')).not.toBe(parked('b3RoZXI='));
    expect(parked('b25l')).not.toContain('b25l');
  });
});
