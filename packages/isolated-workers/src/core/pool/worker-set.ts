import { RestartPolicy } from '../restart-policy.js';
import { workersToEnd, workersToStart } from './pool-size.js';
import type { PoolSettings } from './pool-settings.js';
import { PoolWorker } from './pool-worker.js';
import { recycleReason } from './recycle-reason.js';

/** How often the memory of one worker is asked for at most. */
const sampleEveryMs = 100;

export interface WorkerSetEvents {
  /** Somebody may take requests who could not before. */
  readonly onReady: () => void;
  /** A worker is lost for good; another may be started in its place. */
  readonly onLost: (error: Error) => void;
  /** There is no worker, and for a while none will be started. */
  readonly onUnavailable: (error: Error, forMs: number) => void;
}

/**
 * The workers of a pool: how many there are, and who replaces whom.
 *
 * - Starts happen on demand (`fill`), one for each waiting request and for each missing spare, up to `size`.
 * - A worker that has had its time goes on until its successor is ready, which is not counted until then: so there are never
 *   fewer than before. A quarter of the workers at most is replaced at once.
 * - A worker that is lost is replaced as the restart policy allows; meanwhile the others go on.
 */
export class WorkerSet {
  readonly #settings: PoolSettings;
  readonly #events: WorkerSetEvents;
  readonly #policy: RestartPolicy;
  readonly #workers = new Set<PoolWorker>();
  readonly #ending = new Set<Promise<void>>();
  readonly #sweeper: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  #closed = false;
  restarts = 0;
  recycled = 0;

  constructor(settings: PoolSettings, events: WorkerSetEvents) {
    this.#settings = settings;
    this.#events = events;
    this.#policy = new RestartPolicy(settings.workerOptions.restart);
    const { idleTimeoutMs } = settings;
    if (idleTimeoutMs > 0) {
      this.#sweeper = setInterval(() => this.#sweep(), Math.max(10, idleTimeoutMs / 4));
      this.#sweeper.unref();
    }
  }

  get size(): number {
    return this.#workers.size;
  }

  count(claim: (worker: PoolWorker) => boolean): number {
    let found = 0;
    for (const worker of this.#workers) if (claim(worker)) found += 1;
    return found;
  }

  *ready(): Iterable<PoolWorker> {
    for (const worker of this.#workers) if (worker.state === 'ready') yield worker;
  }

  /** Starts what is missing for `queued` requests and the warm spares, unless a pause was ordered. */
  fill(queued: number): void {
    if (this.#closed || this.#pause) return;
    let total = 0;
    let busy = 0;
    for (const worker of this.#workers) {
      if (worker.state === 'retiring' || worker.predecessor) continue;
      total += 1;
      if (worker.load > 0) busy += 1;
    }
    for (let missing = workersToStart({ total, busy, queued }, this.#settings); missing > 0; missing -= 1)
      if (!this.#start()) return;
  }

  /** A request of this worker is settled: the moment between requests in which a worker may be replaced. */
  released(worker: PoolWorker): void {
    if (worker.state === 'retiring' && worker.load === 0) return this.#end(worker);
    if (worker.state !== 'ready' || worker.outworn) return;
    this.#judge(worker);
    const { maxMemoryMb } = this.#settings;
    const nowMs = performance.now();
    if (maxMemoryMb === undefined || nowMs - worker.sampledMs < sampleEveryMs) return;
    worker.sampledMs = nowMs;
    void worker.core.sample().then((sample) => {
      worker.rssBytes = sample?.rssBytes;
      if (worker.state === 'ready' && !worker.outworn) this.#judge(worker);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweeper);
    clearTimeout(this.#pause);
    for (const worker of this.#workers) this.#end(worker);
    await Promise.all(this.#ending);
  }

  #start(predecessor?: PoolWorker): boolean {
    try {
      const worker = new PoolWorker(this.#settings.workerOptions, this.#settings.worker.driver, {
        onReady: (started) => this.#becameReady(started),
        onRestart: () => (this.restarts += 1),
        onLost: (lost, error) => {
          if (this.#closed) return;
          this.#end(lost);
          this.#lost(error);
        },
      });
      if (predecessor) {
        worker.predecessor = predecessor;
        predecessor.successor = worker;
      }
      this.#workers.add(worker);
      return true;
    } catch (error) {
      this.#lost(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
  }

  #becameReady(worker: PoolWorker): void {
    const { predecessor } = worker;
    if (predecessor) {
      worker.predecessor = undefined;
      predecessor.successor = undefined;
      this.recycled += 1;
      predecessor.state = 'retiring';
      if (predecessor.load === 0) this.#end(predecessor);
      this.#startSuccessors();
    }
    this.#events.onReady();
  }

  #judge(worker: PoolWorker): void {
    if (recycleReason(worker, this.#settings) === undefined) return;
    worker.outworn = true;
    this.#startSuccessors();
  }

  #startSuccessors(): void {
    if (this.#closed || this.#pause) return;
    let free = Math.ceil(this.#settings.size / 4) - this.count((worker) => worker.predecessor !== undefined);
    for (const worker of this.#workers) {
      if (free <= 0) return;
      if (!worker.outworn || worker.successor || worker.state !== 'ready') continue;
      if (!this.#start(worker)) return;
      free -= 1;
    }
  }

  #lost(error: Error): void {
    this.restarts += 1;
    const decision = this.#policy.next(performance.now(), Math.random());
    const pauseMs = decision.restart ? decision.delayMs : decision.periodMs;
    this.#pauseFor(pauseMs);
    this.#events.onLost(error);
    if (!decision.restart && this.#workers.size === 0) this.#events.onUnavailable(error, pauseMs);
  }

  /** Nobody is started before the time is over; then whoever is missing. */
  #pauseFor(ms: number): void {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#startSuccessors();
      this.#events.onReady();
    }, ms);
  }

  #end(worker: PoolWorker): void {
    this.#workers.delete(worker);
    const { predecessor, successor } = worker;
    if (predecessor) predecessor.successor = undefined;
    if (successor) successor.predecessor = undefined; // from now on it counts for itself
    const ended = worker.end().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  #sweep(): void {
    const idle = [...this.ready()].filter((worker) => worker.load === 0 && !worker.outworn);
    for (const worker of workersToEnd(idle, this.#settings, performance.now())) this.#end(worker);
  }
}
