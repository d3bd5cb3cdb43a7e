import type { Randomness } from '@drover/service-kit';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { MemoryQueue } from '../testing/memory-queue.js';
import type { Settlement } from '../trigger-source.js';
import type { QueueListener } from './queue-listener.js';
import type { QueueAccount, StorageQueue } from './storage-queue.js';

interface Run {
  readonly body: string;
  readonly lost: AbortSignal;
  readonly owner: SimulatedProcess;
  readonly settle: (settlement: Settlement) => void;
}

/** A process with one listener; its network may fail, and it may be killed. */
class SimulatedProcess {
  readonly #world: World;
  readonly listener: QueueListener;
  isDead = false;

  constructor(world: World) {
    this.#world = world;
    this.listener = world.queue.listener(
      (delivery, lost) => this.#world.run(this, String(delivery.data), lost),
      this.#network(),
    );
    void this.listener.start(new AbortController().signal);
  }

  #network(): QueueAccount {
    const { queue, faults } = this.#world;
    const fail = (): void => {
      if (this.isDead || faults()) throw new Error('network');
    };
    // Before or after the service applied it: the client cannot know.
    const call = async <T>(act: () => Promise<T>): Promise<T> => {
      fail();
      const answer = await act();
      fail();
      return answer;
    };
    return {
      setting: queue.account.setting,
      queue(name): StorageQueue {
        const inner = queue.account.queue(name);
        return {
          ...inner,
          receive: (...args) => call(() => inner.receive(...args)),
          hide: (...args) => call(() => inner.hide(...args)),
          remove: (...args) => call(() => inner.remove(...args)),
          send: (...args) => call(() => inner.send(...args)),
          create: (...args) => call(() => inner.create(...args)),
        };
      },
    };
  }
}

/** Three processes at one queue, whatever happens to them; keeps account of every message. */
class World {
  readonly clock = new FakeClock();
  readonly queue: MemoryQueue;
  readonly #chance: Randomness;
  readonly #processes: SimulatedProcess[];
  readonly #runs = new Set<Run>();
  readonly #sent: string[] = [];
  readonly #completed = new Set<string>();
  readonly problems: string[] = [];
  #isFaulty = true;

  constructor(seed: number) {
    this.#chance = seededRandomness(seed);
    const options = { batchSize: 4, newBatchThreshold: 2, leaseMs: 30_000, maxPollingIntervalMs: 5_000 };
    this.queue = new MemoryQueue({ clock: this.clock, randomness: seededRandomness(seed + 1), options });
    this.#processes = [1, 2, 3].map(() => new SimulatedProcess(this));
  }

  readonly faults = (): boolean => this.#isFaulty && this.#chance.fraction() < 0.05;

  run(owner: SimulatedProcess, body: string, lost: AbortSignal): Promise<Settlement> {
    for (const other of this.#runs)
      if (other.body === body && !other.lost.aborted && !other.owner.isDead)
        this.problems.push(`${body} ran twice at once`);
    return new Promise((resolve) => {
      const run: Run = {
        body,
        lost,
        owner,
        settle: (settlement) => {
          this.#runs.delete(run);
          if (settlement.kind === 'complete' && !lost.aborted && !owner.isDead) this.#completed.add(body);
          resolve(settlement);
        },
      };
      this.#runs.add(run);
    });
  }

  async step(): Promise<void> {
    const dice = this.#chance.fraction();
    const index = Math.floor(this.#chance.fraction() * this.#processes.length);
    const process = this.#processes[index];
    if (dice < 0.15) await this.#send();
    else if (dice < 0.55) this.#settleOne();
    else if (dice < 0.6) process?.listener.pause();
    else if (dice < 0.68) process?.listener.resume();
    else if (dice < 0.7 && process) {
      process.isDead = true;
      void process.listener.stop();
      this.#processes[index] = new SimulatedProcess(this);
    } else if (dice < 0.72 && process) {
      void process.listener.drain(new AbortController().signal).then(() => process.listener.stop());
      this.#processes[index] = new SimulatedProcess(this);
    } else await this.clock.advance(Math.floor(this.#chance.fraction() ** 4 * 60_000));
    await this.clock.advance(0);
  }

  /** From here on nothing fails, and everything is done. */
  async finish(): Promise<void> {
    this.#isFaulty = false;
    for (let second = 0; second < 400; second++) {
      for (const { listener } of this.#processes) listener.resume();
      for (const run of this.#runs) run.settle({ kind: 'complete' });
      await this.clock.advance(1_000);
    }
    if (this.queue.bodies.length > 0) this.problems.push(`still there: ${this.queue.bodies.join()}`);
    const accounted = new Set([...this.#completed, ...this.queue.poisoned]);
    for (const body of this.#sent) if (!accounted.has(body)) this.problems.push(`${body} is lost`);
    await Promise.all(this.#processes.map(({ listener }) => listener.stop()));
    if (this.#sent.length < 10) this.problems.push('hardly anything happened');
  }

  async #send(): Promise<void> {
    const body = `message ${this.#sent.length + 1}`;
    this.#sent.push(body);
    await this.queue.send(body);
  }

  #settleOne(): void {
    const runs = [...this.#runs];
    const run = runs[Math.floor(this.#chance.fraction() * runs.length)];
    const dice = this.#chance.fraction();
    if (dice < 0.7) run?.settle({ kind: 'complete' });
    else if (dice < 0.95) run?.settle({ kind: 'abandon', delayMs: Math.floor(this.#chance.fraction() * 20_000) });
    else run?.settle({ kind: 'deadLetter', reason: 'dice' });
  }
}

describe('three listeners at one queue, their networks failing, paused, stopped and killed', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('lose no message and never run one twice at once: seed %i', async (seed) => {
    const world = new World(seed);
    for (let step = 0; step < 400; step++) await world.step();
    await world.finish();
    expect(world.problems).toEqual([]);
  });
});
