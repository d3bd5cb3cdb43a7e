import { FakeClock, seededRandomness } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import type { TriggerStoreObservation } from '../store/observations.js';
import type { TriggerStore } from '../store/trigger-store.js';
import { triggerLifecycleContract } from '../testing/trigger-lifecycle-contract.js';
import type { Deliver, Settlement } from '../trigger-source.js';
import type { TimerObservation } from './observations.js';
import { TimerListener } from './timer-listener.js';
import { timerOptions } from './timer-options.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const startedAt = Date.UTC(2030, 0, 1); // a Tuesday, midnight

/** A clock whose wall clock can be set, as by NTP, and go on while monotonic time stands still, as in a suspended machine. */
class SettableClock extends FakeClock {
  #aheadMs = 0;

  override now(): number {
    return super.now() + this.#aheadMs;
  }

  set(byMs: number): void {
    this.#aheadMs += byMs;
  }
}

interface Run {
  readonly by: string;
  readonly at: string;
  readonly isPastDue: boolean;
  readonly payload: unknown;
  readonly metadata: unknown;
  readonly deliveryCount: number;
}

class World {
  readonly clock = new SettableClock(startedAt);
  readonly store = new MemoryTriggerStore();
  readonly runs: Run[] = [];
  readonly seen: (TimerObservation | TriggerStoreObservation)[] = [];
  readonly listeners: TimerListener[] = [];
  settle: (run: Run) => Settlement | Promise<Settlement> = () => complete;
  #seed = 0;

  listener(
    binding: object,
    {
      by = 'one',
      store = this.store,
      zone = 'UTC',
      deliver,
    }: { by?: string; store?: TriggerStore; zone?: string; deliver?: Deliver } = {},
  ): TimerListener {
    const options = timerOptions({ functionName: 'Tick', binding, settings: { TZ: zone }, now: this.clock.now() });
    const listener = new TimerListener({
      functionName: 'Tick',
      options,
      store,
      key: 'timers/app/tick',
      leaseMs: minuteMs,
      deliver:
        deliver ??
        (async (delivery) => {
          const payload = JSON.parse(String(delivery.data)) as { IsPastDue: boolean };
          const { metadata, deliveryCount } = delivery;
          const at = new Date(this.clock.now()).toISOString().slice(11, 19);
          const run = { by, at, isPastDue: payload.IsPastDue, payload, metadata, deliveryCount };
          this.runs.push(run);
          return this.settle(run);
        }),
      clock: this.clock,
      randomness: seededRandomness((this.#seed += 1)),
      observe: (o) => void this.seen.push(o),
    });
    this.listeners.push(listener);
    return listener;
  }

  async start(binding: object, how: Parameters<World['listener']>[1] = {}): Promise<TimerListener> {
    const listener = this.listener(binding, how);
    await listener.start(never);
    await this.clock.advance(0);
    return listener;
  }

  get times(): string[] {
    return this.runs.map(({ at }) => at);
  }

  /** In small steps: what runs sees the time at which it was due. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /** Stops a listener whose `stop` waits for time to pass. */
  async stop(listener: TimerListener): Promise<void> {
    const stopped = listener.stop();
    await this.clock.advance(10_000);
    await stopped;
  }
}

let world: World;
const open = (): World => (world = new World());
afterEach(async () => {
  for (const listener of world.listeners) await world.stop(listener);
});

/** A store that can be taken away from one runtime, as when its process is killed. */
function cuttable(inner: TriggerStore): TriggerStore & { isCut: boolean } {
  const network = {
    isCut: false,
    read: (...args: Parameters<TriggerStore['read']>) => network.call(() => inner.read(...args)),
    write: (...args: Parameters<TriggerStore['write']>) => network.call(() => inner.write(...args)),
    list: (...args: Parameters<TriggerStore['list']>) => network.call(() => inner.list(...args)),
    remove: (...args: Parameters<TriggerStore['remove']>) => network.call(() => inner.remove(...args)),
    call: <T>(act: () => Promise<T>): Promise<T> => (network.isCut ? Promise.reject(new Error('network')) : act()),
  };
  return network;
}

describe('a timer', () => {
  it('runs at each occurrence, once', async () => {
    open();
    await world.start({ schedule: '0 */20 * * * *' });
    await world.pass(hourMs);
    expect(world.times).toEqual(['00:20:00', '00:40:00', '01:00:00']);
    expect(world.runs.map(({ isPastDue }) => isPastDue)).toEqual([false, false, false]);
  });

  it('has the payload and the metadata of the official host', async () => {
    open();
    await world.start({ schedule: '0 */20 * * * *' }, { zone: 'Europe/Berlin' });
    await world.pass(45 * minuteMs);
    expect(world.runs[0]?.payload).toEqual({
      Schedule: { AdjustForDST: true },
      ScheduleStatus: {
        Last: '0001-01-01T00:00:00+00:00',
        Next: '2030-01-01T01:20:00+01:00',
        LastUpdated: '2030-01-01T01:00:00+01:00',
      },
      IsPastDue: false,
    });
    expect(world.runs[0]?.metadata).toEqual({ TimerTrigger: '2030-01-01T01:20:00+01:00' });
    expect(world.runs[1]?.payload).toMatchObject({
      ScheduleStatus: {
        Last: '2030-01-01T01:20:00+01:00',
        Next: '2030-01-01T01:40:00+01:00',
        LastUpdated: '2030-01-01T01:20:00+01:00',
      },
    });
  });

  it('has no status if it is not monitored: with useMonitor false, or more than one occurrence per minute', async () => {
    for (const binding of [{ schedule: '0 * * * * *', useMonitor: false }, { schedule: '*/30 * * * * *' }]) {
      open();
      const listener = await world.start(binding);
      await world.pass(minuteMs);
      expect(world.runs.at(-1)?.payload).toMatchObject({ ScheduleStatus: null, IsPastDue: false });
      await world.stop(listener);
      await world.pass(hourMs);
      const before = world.runs.length;
      await world.start(binding);
      expect(world.runs).toHaveLength(before); // what was missed is left out
    }
  });

  it('is not re-entrant: what falls due while it runs is left out, and the next one is computed after the run', async () => {
    open();
    const finish: (() => void)[] = [];
    world.settle = () => new Promise((resolve) => finish.push(() => resolve(complete)));
    await world.start({ schedule: '0 */10 * * * *' });
    await world.pass(34 * minuteMs); // the run of 00:10 lasts until 00:34
    expect(world.times).toEqual(['00:10:00']);
    finish[0]?.();
    await world.pass(6 * minuteMs - 1);
    expect(world.times).toEqual(['00:10:00']);
    await world.pass(1);
    expect(world.times).toEqual(['00:10:00', '00:40:00']);
    finish[1]?.();
  });

  it('runs an interval on its grid, whatever its runs take', async () => {
    open();
    await world.start({ schedule: '00:07:00' });
    world.settle = () => new Promise((resolve) => world.clock.after(minuteMs, () => resolve(complete)));
    await world.pass(30 * minuteMs);
    expect(world.times).toEqual(['00:07:00', '00:14:00', '00:21:00', '00:28:00']);
  });

  it('waits longer than a 32-bit timer can, also over a pause of its process', async () => {
    open();
    await world.start({ schedule: '0 0 0 1 2 *' });
    world.clock.pause(31 * 24 * hourMs - 20 * minuteMs);
    await world.pass(20 * minuteMs - 1);
    expect(world.runs).toEqual([]);
    await world.pass(1);
    expect(world.runs.map(({ at, isPastDue }) => [at, isPastDue])).toEqual([['00:00:00', false]]);
    expect(new Date(world.clock.now()).toISOString()).toBe('2030-02-01T00:00:00.000Z');
  });
});

describe('a timer that was not running when it was due', () => {
  it('runs late, exactly once, and says so', async () => {
    open();
    const first = await world.start({ schedule: '0 */20 * * * *' });
    await world.pass(25 * minuteMs);
    await world.stop(first);
    await world.pass(2 * hourMs);
    await world.start({ schedule: '0 */20 * * * *' });
    await world.pass(minuteMs);
    expect(world.runs.map(({ at, isPastDue }) => [at, isPastDue])).toEqual([
      ['00:20:00', false],
      ['02:25:10', true],
    ]);
    expect(world.runs[1]?.payload).toMatchObject({
      ScheduleStatus: { Last: '2030-01-01T00:20:00+00:00', Next: '2030-01-01T00:40:00+00:00' },
    });
    await world.pass(30 * minuteMs);
    expect(world.runs.slice(2).map(({ at, isPastDue }) => [at, isPastDue])).toEqual([['02:40:00', false]]);
  });

  it('also if it has never run before', async () => {
    open();
    await world.stop(await world.start({ schedule: '0 0 1 * * *' }));
    await world.pass(3 * hourMs);
    await world.start({ schedule: '0 0 1 * * *' });
    expect(world.runs.map(({ isPastDue }) => isPastDue)).toEqual([true]);
  });

  it('does not run late if its schedule was changed', async () => {
    open();
    await world.stop(await world.start({ schedule: '0 0 1 * * *' }));
    await world.pass(3 * hourMs);
    await world.start({ schedule: '0 30 * * * *' });
    await world.pass(hourMs);
    expect(world.runs.map(({ at, isPastDue }) => [at, isPastDue])).toEqual([['03:30:00', false]]);
    expect(world.runs[0]?.payload).toMatchObject({ ScheduleStatus: { Last: '0001-01-01T00:00:00+00:00' } });
  });

  it('runs at every start with runOnStartup, and not twice if it is past due as well', async () => {
    open();
    const binding = { schedule: '0 0 1 * * *', runOnStartup: true };
    await world.stop(await world.start(binding));
    expect(world.runs.map(({ isPastDue }) => isPastDue)).toEqual([false]);
    await world.stop(await world.start(binding));
    expect(world.runs.map(({ isPastDue }) => isPastDue)).toEqual([false, false]);
    await world.pass(3 * hourMs);
    const third = await world.start(binding);
    expect(world.runs.map(({ isPastDue }) => isPastDue)).toEqual([false, false, true]);
    await world.pass(23 * hourMs);
    expect(world.runs.map(({ at }) => at).slice(3)).toEqual(['01:00:00']);
    await world.stop(third);
  });
});

describe('one timer in two runtimes', () => {
  it('runs in one of them', async () => {
    open();
    await Promise.all(
      ['one', 'two', 'three'].map((by) => world.start({ schedule: '0 * * * * *', runOnStartup: true }, { by })),
    );
    await world.pass(10 * minuteMs);
    expect(new Set(world.runs.map(({ by }) => by)).size).toBe(1);
    expect(world.runs).toHaveLength(11);
  });

  it('is taken over when its runtime is killed: what was missed runs once', async () => {
    open();
    const network = cuttable(world.store);
    await world.start({ schedule: '0 * * * * *' }, { by: 'one', store: network });
    await world.start({ schedule: '0 * * * * *' }, { by: 'two' });
    await world.pass(5 * minuteMs + 1_000);
    // Killed: nothing of it reaches the store, and nothing is delivered any more.
    network.isCut = true;
    world.listeners[0]?.pause();
    await world.pass(5 * minuteMs);
    const byTwo = world.runs.filter(({ by }) => by === 'two');
    expect(world.runs.filter(({ by }) => by === 'one')).toHaveLength(5);
    expect(byTwo.map(({ isPastDue }) => isPastDue)).toEqual([true, ...byTwo.slice(1).map(() => false)]);
    expect(byTwo.length).toBeGreaterThanOrEqual(3);
    // The first minute without a run, and all that the silence lasted, are one run.
    expect(Date.parse(`2030-01-01T${byTwo[0]?.at}Z`) - startedAt).toBeLessThan(5 * minuteMs + 1_000 + 1.5 * minuteMs);
  });

  it('passes on at once when its runtime drains', async () => {
    open();
    const first = await world.start({ schedule: '0 * * * * *' }, { by: 'one' });
    await world.start({ schedule: '0 * * * * *' }, { by: 'two' });
    await world.pass(90_000);
    await first.drain(never);
    await world.pass(2 * minuteMs);
    expect(world.runs.map(({ by, isPastDue }) => [by, isPastDue])).toEqual([
      ['one', false],
      ['two', false],
      ['two', false],
    ]);
  });
});

describe('a timer and a clock that is set', () => {
  it('runs once when the clock is put forward over occurrences, as past due', async () => {
    open();
    await world.start({ schedule: '0 */10 * * * *' });
    await world.pass(minuteMs);
    world.clock.set(2 * hourMs);
    await world.pass(minuteMs);
    expect(world.runs.map(({ isPastDue }) => isPastDue)).toEqual([true]);
    await world.pass(10 * minuteMs);
    expect(world.times.slice(1)).toEqual(['02:10:00']);
  });

  it('does not run an occurrence twice when the clock is put back a little', async () => {
    open();
    await world.start({ schedule: '0 */10 * * * *' });
    await world.pass(10 * minuteMs + 1_000);
    world.clock.set(-5_000); // 00:09:56
    await world.pass(5 * minuteMs);
    expect(world.runs).toHaveLength(1);
    await world.pass(5 * minuteMs + 5_000);
    expect(world.runs).toHaveLength(2);
  });

  it('does not run an occurrence twice when the clock is put back while it runs', async () => {
    open();
    world.settle = () => {
      world.clock.set(-5_000);
      return complete;
    };
    await world.start({ schedule: '0 */10 * * * *' });
    await world.pass(10 * minuteMs + 30_000);
    expect(world.runs).toHaveLength(1);
  });

  it('starts again from the new time when the clock was far ahead', async () => {
    open();
    world.clock.set(365 * 24 * hourMs);
    await world.start({ schedule: '0 */10 * * * *' });
    await world.pass(11 * minuteMs);
    world.clock.set(-365 * 24 * hourMs);
    await world.pass(10 * minuteMs);
    expect(world.times).toEqual(['00:10:00', '00:20:00']);
    expect(world.seen.map(({ kind }) => kind)).toContain('timer.clock-set-back');
  });

  it('asks whether another runtime has taken over while the machine slept', async () => {
    open();
    await world.start({ schedule: '0 0 * * * *' });
    await world.pass(minuteMs);
    // Another machine saw the silence and took over.
    const found = await world.store.read('timers/app/tick', never);
    const { state } = JSON.parse(found?.value ?? '') as { state: string };
    const taken = JSON.stringify({ holder: 'another', write: 'w', state });
    await world.store.write('timers/app/tick', taken, found?.version, never);
    world.clock.set(5 * hourMs);
    await world.pass(16_000);
    expect(world.runs).toEqual([]);
    expect(world.seen).toContainEqual({ kind: 'lease.lost', key: 'timers/app/tick', reason: 'taken' });
  });
});

describe('a run of a timer', () => {
  it('that failed is over: the next occurrence is the next run', async () => {
    open();
    world.settle = () => ({ kind: 'abandon', delayMs: 1 });
    await world.start({ schedule: '0 */10 * * * *' });
    await world.pass(21 * minuteMs);
    expect(world.times).toEqual(['00:10:00', '00:20:00']);
  });

  it('that no worker finished is delivered again, and counted', async () => {
    open();
    world.settle = ({ deliveryCount }) => (deliveryCount < 3 ? { kind: 'abandon' } : complete);
    await world.start({ schedule: '0 */10 * * * *' });
    await world.pass(11 * minuteMs);
    expect(world.runs.map(({ deliveryCount }) => deliveryCount)).toEqual([1, 2, 3]);
    expect(world.seen.filter(({ kind }) => kind === 'timer.redelivered')).toHaveLength(2);
  });

  it('that its user failed to take at all is delivered again', async () => {
    open();
    let calls = 0;
    const deliver: Deliver = () =>
      (calls += 1) === 1 ? Promise.reject(new Error('must not')) : Promise.resolve(complete);
    await world.start({ schedule: '0 */10 * * * *' }, { deliver });
    await world.pass(11 * minuteMs);
    expect(calls).toBe(2);
    expect(world.seen.map(({ kind }) => kind)).toContain('timer.delivery-threw');
  });

  it('that was interrupted by a stop runs again at the next start, past due', async () => {
    open();
    world.settle = () => new Promise(() => undefined);
    const first = await world.start({ schedule: '0 0 1 * * *' });
    await world.pass(hourMs);
    expect(world.runs).toHaveLength(1);
    await world.stop(first);
    world.settle = () => complete;
    await world.start({ schedule: '0 0 1 * * *' });
    expect(world.runs.map(({ isPastDue }) => isPastDue)).toEqual([false, true]);
    await world.pass(hourMs);
    expect(world.runs).toHaveLength(2);
  });

  it('is not repeated when its record comes late, because the store was away', async () => {
    open();
    const network = cuttable(world.store);
    world.settle = () => {
      network.isCut = true;
      return complete;
    };
    await world.start({ schedule: '0 0 * * * *' }, { store: network });
    await world.pass(hourMs + 10 * minuteMs); // longer than the lease
    world.settle = () => complete;
    network.isCut = false;
    await world.pass(hourMs);
    expect(world.times).toEqual(['01:00:00', '02:00:00']);
  });
});

describe('a timer listener', () => {
  it('starts while the store is away, and goes on by itself', async () => {
    open();
    const network = cuttable(world.store);
    network.isCut = true;
    await world.start({ schedule: '0 */10 * * * *' }, { store: network });
    await world.pass(5 * minuteMs);
    network.isCut = false;
    await world.pass(6 * minuteMs);
    expect(world.times).toEqual(['00:10:00']);
  });

  it('measures an occurrence that waits, with its age, also without a start', async () => {
    open();
    const bounds = { maxUsefulWorkers: 1, targetPerWorker: 1 };
    const none = { waiting: 0, oldestAgeMs: undefined, ...bounds };
    const idle = world.listener({ schedule: '0 */10 * * * *' });
    expect(await idle.measure(never)).toEqual(none);
    const listener = await world.start({ schedule: '0 */10 * * * *' });
    listener.pause();
    await world.pass(9 * minuteMs);
    expect(await listener.measure(never)).toEqual(none);
    await world.pass(3 * minuteMs);
    const late = { waiting: 1, oldestAgeMs: 2 * minuteMs, ...bounds };
    expect(await listener.measure(never)).toEqual(late);
    expect(await idle.measure(never)).toEqual(late);
    listener.resume();
    await world.pass(minuteMs);
    expect(await listener.measure(never)).toEqual(none);
  });
});

triggerLifecycleContract('timer', async () => {
  open();
  return {
    listener: (deliver) => world.listener({ schedule: '0 * * * * *' }, { deliver }),
    happen: () => world.pass(minuteMs),
    close: async () => undefined,
  };
});
