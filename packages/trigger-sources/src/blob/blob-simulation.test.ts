import type { Randomness } from '@drover/service-kit';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { QueueAccount, StorageQueue } from '../queue/storage-queue.js';
import { SourceWakeups } from '../source-wakeups.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import type { TriggerStore } from '../store/trigger-store.js';
import { MemoryQueueAccount } from '../testing/memory-queue-account.js';
import type { Settlement } from '../trigger-source.js';
import { WrittenBlob, type BlobAccount } from './blob-container.js';
import { BlobListener } from './blob-listener.js';
import { blobTriggerOptions } from './blob-options.js';
import { ContentBudget } from './content-budget.js';
import { MemoryBlobs } from './memory-blobs.test.fixture.js';

interface Run {
  readonly version: string;
  readonly settle: (settlement: Settlement) => void;
}

/** A process with one listener; its network may fail, and it may be killed. */
class SimulatedRuntime {
  readonly listener: BlobListener;
  readonly wakeups = new SourceWakeups();
  isDead = false;

  constructor(world: BlobWorld) {
    const call = async <T>(act: () => Promise<T>): Promise<T> => {
      // Before or after the service applied it: the client cannot know.
      const fail = (): void => {
        if (this.isDead || world.faults()) throw new Error('network');
      };
      fail();
      const answer = await act();
      fail();
      return answer;
    };
    const queues: QueueAccount = {
      setting: 'test',
      queue: (name): StorageQueue => through(world.queues.queue(name), call),
    };
    const account: BlobAccount = {
      setting: 'test',
      endpoint: 'memory',
      container: (name) => through(world.blobs.container(name), call),
    };
    this.listener = new BlobListener({
      application: 'app',
      functionName: 'resize',
      account,
      hostQueues: queues,
      ownQueues: queues,
      options: world.options,
      deliver: ({ id = '' }) => world.run(id),
      store: through<TriggerStore>(storeOf(world.store), call),
      budget: new ContentBudget(),
      wakeups: this.wakeups,
      clock: world.clock,
      randomness: world.randomness,
      observe: (observation) => {
        if (observation.kind === 'blob.redelivered') world.repeats += 1;
        if (observation.kind === 'blob.requeued') world.repeats += observation.blobs;
      },
    });
    void this.listener.start(new AbortController().signal);
  }
}

/** Puts a network between a client and a service: every method is called through it. */
function through<Service extends object>(service: Service, call: <T>(act: () => Promise<T>) => Promise<T>): Service {
  const wrapped = Object.entries(service).map(([name, part]: [string, unknown]) => [
    name,
    typeof part === 'function' ? (...args: unknown[]) => call(() => part(...args) as Promise<unknown>) : part,
  ]);
  return Object.fromEntries(wrapped) as Service; // same members
}

function storeOf(store: MemoryTriggerStore): TriggerStore {
  return {
    read: (...args) => store.read(...args),
    write: (...args) => store.write(...args),
    list: (...args) => store.list(...args),
    remove: (...args) => store.remove(...args),
  };
}

/** Three runtimes at one container, whatever happens to them; keeps account of every version. */
class BlobWorld {
  readonly clock = new FakeClock();
  readonly blobs = new MemoryBlobs(this.clock);
  readonly queues = new MemoryQueueAccount(this.clock);
  readonly store = new MemoryTriggerStore();
  readonly randomness: Randomness;
  readonly options = blobTriggerOptions({
    functionName: 'resize',
    host: {},
    binding: { path: 'box/{name}', leaseDuration: '00:00:30', poisonBlobThreshold: 1_000, maxDegreeOfParallelism: 6 },
    cores: 1,
  });
  readonly #chance: Randomness;
  readonly #runtimes: SimulatedRuntime[];
  readonly #running = new Set<Run>();
  /** How often each version ran. */
  readonly runs = new Map<string, number>();
  repeats = 0;
  #isFaulty = true;
  #names = 0;

  constructor(seed: number) {
    this.#chance = seededRandomness(seed);
    this.randomness = seededRandomness(seed + 1);
    this.blobs.pageSize = 7;
    this.#runtimes = [1, 2, 3].map(() => new SimulatedRuntime(this));
  }

  readonly faults = (): boolean => this.#isFaulty && this.#chance.fraction() < 0.05;

  run(version: string): Promise<Settlement> {
    this.runs.set(version, (this.runs.get(version) ?? 0) + 1);
    return new Promise((resolve) => {
      const run: Run = {
        version,
        settle: (settlement) => {
          this.#running.delete(run);
          resolve(settlement);
        },
      };
      this.#running.add(run);
    });
  }

  async step(): Promise<void> {
    const dice = this.#chance.fraction();
    const index = Math.floor(this.#chance.fraction() * this.#runtimes.length);
    const runtime = this.#runtimes[index];
    if (dice < 0.25) this.#write();
    else if (dice < 0.55) this.#settleOne();
    else if (dice < 0.6) runtime?.listener.pause();
    else if (dice < 0.68) runtime?.listener.resume();
    else if (dice < 0.71 && runtime) {
      runtime.isDead = true;
      void runtime.listener.stop();
      this.#runtimes[index] = new SimulatedRuntime(this);
    } else if (dice < 0.73 && runtime) {
      void runtime.listener.drain(new AbortController().signal).then(() => runtime.listener.stop());
      this.#runtimes[index] = new SimulatedRuntime(this);
    } else await this.clock.advance(Math.floor(this.#chance.fraction() ** 4 * 40_000));
    await this.clock.advance(0);
  }

  /** From here on nothing fails, and everything is done. Returns the versions that never ran. */
  async finish(): Promise<string[]> {
    this.#isFaulty = false;
    for (let second = 0; second < 300; second++) {
      for (const { listener } of this.#runtimes) listener.resume();
      for (const run of this.#running) run.settle({ kind: 'complete' });
      await this.clock.advance(1_000);
    }
    const stopped = this.#runtimes.map(({ listener }) => listener.stop());
    await this.clock.advance(10_000);
    await Promise.all(stopped);
    return this.blobs.current
      .map(({ name, etag }) => `box/${name} ${etag}`)
      .filter((version) => !this.runs.has(version));
  }

  #write(): void {
    const isNew = this.#chance.fraction() < 0.7 || this.#names === 0;
    if (isNew) this.#names += 1;
    // Names in any order, so that some are written in front of a sweep and some behind it.
    const number = isNew ? this.#names : Math.ceil(this.#chance.fraction() * this.#names);
    const version = this.blobs.put(`${(number * 7_919) % 1_000}-${number}`);
    // Some are written by outputs of a runtime, some from elsewhere.
    const runtime = this.#runtimes[Math.floor(this.#chance.fraction() * 2 * this.#runtimes.length)];
    runtime?.wakeups.wake('memory/box', new WrittenBlob(version));
  }

  #settleOne(): void {
    const running = [...this.#running];
    const run = running[Math.floor(this.#chance.fraction() * running.length)];
    if (this.#chance.fraction() < 0.8) run?.settle({ kind: 'complete' });
    else run?.settle({ kind: 'abandon', delayMs: Math.floor(this.#chance.fraction() * 20_000) });
  }
}

describe('three runtimes at one container, their networks failing, paused, stopped and killed', () => {
  it.each([1, 2, 3, 4, 5, 6])('run every version, and count every repeat: seed %i', async (seed) => {
    const world = new BlobWorld(seed);
    for (let step = 0; step < 400; step++) await world.step();
    expect(await world.finish()).toEqual([]);
    expect(world.runs.size).toBeGreaterThan(50);
    const extra = [...world.runs.values()].reduce((sum, runs) => sum + runs - 1, 0);
    expect(extra).toBeLessThanOrEqual(world.repeats);
  });
});
