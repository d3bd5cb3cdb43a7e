import type { Randomness } from '@drover/service-kit';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { parseLease } from '../store/lease-record.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import type { TriggerStore } from '../store/trigger-store.js';
import type { Settlement } from '../trigger-source.js';
import { TimerListener } from './timer-listener.js';
import { timerOptions } from './timer-options.js';
import { parseStatus } from './timer-status.js';

const never = new AbortController().signal;
const minuteMs = 60_000;

/** A runtime with the timer; its network may fail, and it may be killed. */
class SimulatedRuntime {
  readonly listener: TimerListener;
  isDead = false;

  constructor(world: World) {
    const call = async <T>(act: () => Promise<T>): Promise<T> => {
      const fault = world.fault();
      // Before or after the store applied it: the runtime cannot know.
      if (this.isDead || fault === 'before') throw new Error('network');
      const answer = await act();
      if (this.isDead || fault === 'after') throw new Error('network');
      return answer;
    };
    const store: TriggerStore = {
      read: (...args) => call(() => world.store.read(...args)),
      write: (...args) => call(() => world.store.write(...args)),
      list: (...args) => call(() => world.store.list(...args)),
      remove: (...args) => call(() => world.store.remove(...args)),
    };
    const binding = { schedule: '0 */5 * * * *' };
    this.listener = new TimerListener({
      functionName: 'tick',
      options: timerOptions({ functionName: 'tick', binding, settings: { TZ: 'UTC' }, now: world.clock.now() }),
      store,
      key: 'timers/app/tick',
      leaseMs: minuteMs,
      deliver: ({ data }, lost) => world.run(this, String(data), lost),
      clock: world.clock,
      randomness: world.chance,
      observe: () => undefined,
    });
    void this.listener.start(never);
  }
}

interface Run {
  readonly owner: SimulatedRuntime;
  /** The occurrence: `Next` of its status. */
  readonly due: string;
  readonly lost: AbortSignal;
  readonly finish: () => void;
}

/** Three runtimes with one timer, whatever happens to them; keeps account of every occurrence. */
class World {
  readonly clock = new FakeClock();
  readonly store = new MemoryTriggerStore();
  readonly chance: Randomness;
  readonly problems: string[] = [];
  /** Occurrences whose run ended in a runtime that lived, and is known to the store by now. */
  readonly recorded = new Set<string>();
  readonly #runtimes: SimulatedRuntime[];
  readonly #running = new Set<Run>();
  readonly #stopping: Promise<void>[] = [];
  runs = 0;
  isFaulty = true;

  constructor(seed: number) {
    this.chance = seededRandomness(seed);
    this.#runtimes = [1, 2, 3].map(() => new SimulatedRuntime(this));
  }

  fault(): 'before' | 'after' | 'none' {
    if (!this.isFaulty || this.chance.fraction() > 0.1) return 'none';
    return this.chance.fraction() < 0.5 ? 'before' : 'after';
  }

  run(owner: SimulatedRuntime, data: string, lost: AbortSignal): Promise<Settlement> {
    const { ScheduleStatus: status } = JSON.parse(data) as { ScheduleStatus: { Next: string } };
    const due = status.Next;
    this.runs += 1;
    if (Date.parse(due) > this.clock.now()) this.problems.push(`${due} ran early`);
    if (this.recorded.has(due)) this.problems.push(`${due} ran twice`);
    for (const other of this.#running)
      if (!other.owner.isDead && !other.lost.aborted) this.problems.push(`${due} ran beside ${other.due}`);
    return new Promise((resolve) => {
      const run: Run = {
        owner,
        due,
        lost,
        finish: () => {
          this.#running.delete(run);
          resolve({ kind: 'complete' });
          // Recorded when the store knows it: a newer status than the one that the run had.
          this.clock.after(1_000, () => void this.#noteRecord(run));
        },
      };
      this.#running.add(run);
    });
  }

  async #noteRecord({ owner, due, lost }: Run): Promise<void> {
    const found = await this.store.read('timers/app/tick', never);
    const next = parseStatus(parseLease(found?.value ?? '').state)?.next ?? 0;
    if (next > Date.parse(due) && !owner.isDead && !lost.aborted) this.recorded.add(due);
  }

  async step(): Promise<void> {
    const dice = this.chance.fraction();
    const index = Math.floor(this.chance.fraction() * this.#runtimes.length);
    const runtime = this.#runtimes[index];
    if (dice < 0.03 && runtime) {
      runtime.isDead = true;
      this.#stopping.push(runtime.listener.stop());
      this.#runtimes[index] = new SimulatedRuntime(this);
    } else if (dice < 0.05 && runtime) {
      this.#stopping.push(runtime.listener.drain(never).then(() => runtime.listener.stop()));
      this.#runtimes[index] = new SimulatedRuntime(this);
    } else if (dice < 0.08) runtime?.listener.pause();
    else if (dice < 0.15) runtime?.listener.resume();
    else if (dice < 0.17) this.clock.pause(this.chance.fraction() * 10 * minuteMs);
    else if (dice < 0.6) for (const run of this.#running) run.finish();
    await this.clock.advance(this.chance.fraction() ** 2 * 3 * minuteMs);
  }

  /** From here on nothing fails. */
  async finish(): Promise<void> {
    this.isFaulty = false;
    for (let minute = 0; minute < 30; minute += 1) {
      for (const { listener } of this.#runtimes) listener.resume();
      for (const run of this.#running) run.finish();
      await this.clock.advance(minuteMs);
    }
    const before = this.runs;
    for (let second = 0; second < 30 * 60; second += 20) {
      await this.clock.advance(20_000);
      for (const run of this.#running) run.finish();
    }
    if (this.runs - before !== 6) this.problems.push(`${this.runs - before} runs in half an hour, not 6`);
    const stopped = this.#runtimes.map(({ listener }) => listener.stop());
    await this.clock.advance(2 * minuteMs);
    await Promise.all([...stopped, ...this.#stopping]);
  }
}

describe('three runtimes with one timer, their networks failing, paused, drained, frozen and killed', () => {
  it.each([1, 2, 3, 4])('never run it twice at once, early, or again once recorded: seed %i', async (seed) => {
    const world = new World(seed);
    for (let step = 0; step < 250; step += 1) await world.step();
    await world.finish();
    expect(world.problems).toEqual([]);
    expect(world.recorded.size).toBeGreaterThan(20);
  });
});
