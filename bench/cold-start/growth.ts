import type { Contender } from '../harness/rounds.js';
import { rssOf } from '../harness/process-facts.js';
import type { Pace } from './pace.js';
import type { ScaledPlatform } from './scaled-platform.js';

const most = 10;
const requestsAtOnce = 16;
const kibibytes = 1_024;

/** Calls an application from several clients until told to end, and remembers which workers answered. */
class Load {
  readonly pids = new Set<number>();
  readonly #platform: ScaledPlatform;
  readonly #name: string;
  readonly #running: Promise<void>[];
  #isOver = false;
  #onPid: () => void = () => undefined;

  constructor(platform: ScaledPlatform, name: string) {
    this.#platform = platform;
    this.#name = name;
    this.#running = Array.from({ length: requestsAtOnce }, () => this.#run());
  }

  /** Resolves when so many workers have answered. */
  async until(workers: number): Promise<void> {
    while (this.pids.size < workers)
      await Promise.race([new Promise<void>((resolve) => (this.#onPid = resolve)), Promise.all(this.#running)]);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const pid = await this.#platform.call(this.#name);
      if (this.pids.has(pid)) continue;
      this.pids.add(pid);
      this.#onPid();
    }
  }
}

/**
 * From the new bound until ten workers have answered, under load; then from the last call until no worker is left; then the first call
 * after that.
 */
export function growthContender(platform: ScaledPlatform): Contender<number[]> {
  const name = 'growing';
  return {
    name: '1 to 10 workers, and back to zero',
    run: async () => {
      await platform.scale(name, { minWorkers: 1, maxWorkers: most });
      await platform.untilReady(name, 1);
      const load = new Load(platform, name);
      try {
        await load.until(1);
        const startedMs = performance.now();
        await platform.scale(name, { minWorkers: most, maxWorkers: most });
        await load.until(most);
        const grownMs = performance.now() - startedMs;
        await load.end();
        return [grownMs, ...(await toZeroAndBack(platform, name))];
      } finally {
        await load.end();
      }
    },
  };
}

async function toZeroAndBack(platform: ScaledPlatform, name: string): Promise<[emptiedMs: number, backMs: number]> {
  const endedMs = performance.now();
  await platform.scale(name, { minWorkers: 0, maxWorkers: most });
  await platform.untilAtZero(name);
  const emptiedMs = performance.now() - endedMs;
  const startedMs = performance.now();
  await platform.call(name);
  return [emptiedMs, performance.now() - startedMs];
}

/** KiB of memory, in all processes of the platform, for each application that was deployed and rests. */
export function idleContender(platform: ScaledPlatform, { idleApplications, rounds }: Pace): Contender<number[]> {
  const memory = (): number => platform.pids.reduce((sum, pid) => sum + (rssOf(pid) ?? 0), 0) * kibibytes;
  const deploy = async (prefix: string, count: number): Promise<void> => {
    const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    for (const name of names) await platform.deploy(name);
    for (const name of names) await platform.untilAtZero(name);
  };
  return {
    name: 'idle applications',
    takesPartIn: (round) => round === rounds - 1,
    run: async () => {
      await deploy('first', Math.ceil(idleApplications / 2)); // until the heap has the size that deployments need
      const before = memory();
      await deploy('idle', idleApplications);
      return [(memory() - before) / idleApplications];
    },
  };
}
