import { RestartPolicy } from '../restart-policy.js';
import type { PoolGrowth } from './choose-worker.js';
import { recycleReason, workersToEnd, workersToStart } from './pool-decisions.js';
import type { PoolSettings } from './pool-settings.js';
import { PoolWorker } from './pool-worker.js';
import { asError } from '../wire/error-data.js';

/** Minimum interval between two measurements of one worker's memory. */
const sampleEveryMs = 100;

export interface WorkerSetEvents {
  /** A worker accepts requests, or another may be started now. */
  readonly onReady: () => void;
  /** A worker is lost; another may be started in its place. */
  readonly onLost: (error: Error) => void;
  /** There is no worker, and none is started for this long. */
  readonly onUnavailable: (error: Error, forMs: number) => void;
}

/**
 * The workers of a pool: how many there are, and which one replaces which.
 *
 * - Workers are started on demand (`fill`), for the queue and for missing spares, up to `size`.
 * - A worker that reached a limit serves until its successor is ready. The successor does not count until then, so capacity
 *   never drops. At most a quarter of the workers is replaced at once.
 * - A worker that is lost is replaced as the policy allows; meanwhile the others serve.
 * - A worker whose event loop is blocked by a cancelled request is killed and restarted; one with a cancelled handler that
 *   does not end retires. Neither counts towards `size` meanwhile.
 */
export class WorkerSet {
  readonly #settings: PoolSettings;
  readonly #events: WorkerSetEvents;
  readonly #policy: RestartPolicy;
  /** Pause after a worker died too often. */
  readonly #restartPeriodMs: number;
  /** Replaced on removal, so that a loop over it may end workers. */
  #workers: readonly PoolWorker[] = [];
  readonly #ending = new Set<Promise<void>>();
  readonly #sweeper: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  #closed = false;
  #isRef = true;
  restarts = 0;
  recycled = 0;

  constructor(settings: PoolSettings, events: WorkerSetEvents) {
    this.#settings = settings;
    this.#events = events;
    this.#policy = new RestartPolicy(settings.replacement);
    this.#restartPeriodMs = new RestartPolicy(settings.workerOptions.restart).periodMs;
    const { idleTimeoutMs } = settings;
    if (idleTimeoutMs > 0) {
      this.#sweeper = setInterval(() => this.#sweep(), Math.max(10, idleTimeoutMs / 4));
      this.#sweeper.unref();
    }
  }

  get all(): readonly PoolWorker[] {
    return this.#workers;
  }

  get growth(): PoolGrowth {
    if (this.#workers.some((worker) => worker.state === 'starting' || worker.state === 'restarting')) return 'starting';
    if (this.#closed || this.#pause) return 'none';
    return this.#census().total < this.#settings.size ? 'possible' : 'none';
  }

  /** Starts the workers that `queued` requests and the warm spares need, unless starts are paused. */
  fill(queued: number): void {
    if (this.#closed || this.#pause) return;
    for (let missing = workersToStart({ ...this.#census(), queued }, this.#settings); missing > 0; missing -= 1)
      if (!this.#start()) return;
  }

  /** Called when a request of this worker was settled: a worker is replaced or ended between requests only. */
  released(worker: PoolWorker): void {
    if (worker.state === 'retiring' && worker.wanted === 0) return this.#end(worker);
    if (worker.state !== 'ready' || worker.isWornOut) return;
    this.#checkLimits(worker);
    const { maxMemoryMb } = this.#settings;
    if (maxMemoryMb === undefined) return;
    const nowMs = performance.now();
    if (nowMs - worker.sampledMs < sampleEveryMs) return;
    worker.sampledMs = nowMs;
    void worker.core.sample().then((sample) => {
      worker.rssBytes = sample?.rssBytes;
      if (worker.state === 'ready' && !worker.isWornOut) this.#checkLimits(worker);
    });
  }

  /** Whether workers, and the pause before the next start, keep this process alive. */
  setRef(isRef: boolean): void {
    this.#isRef = isRef;
    for (const { core } of this.#workers) core.setRef(isRef);
    if (isRef) this.#pause?.ref();
    else this.#pause?.unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweeper);
    clearTimeout(this.#pause);
    for (const worker of this.#workers) this.#end(worker);
    await Promise.all(this.#ending);
  }

  /** Counts the workers that `size` applies to, and those of them that run requests. */
  #census(): { readonly total: number; readonly busy: number } {
    let total = 0;
    let busy = 0;
    for (const worker of this.#workers) {
      if (worker.state === 'retiring' || worker.predecessor || worker.isUnresponsive) continue;
      total += 1;
      if (worker.load > 0) busy += 1;
    }
    return { total, busy };
  }

  #start(predecessor?: PoolWorker): boolean {
    try {
      const worker = new PoolWorker(this.#settings, {
        onReady: (started) => this.#becameReady(started),
        onRestart: () => (this.restarts += 1),
        onLost: (lost, error, diedTooOften) => {
          if (this.#closed) return;
          this.#end(lost);
          this.#lost(error, diedTooOften);
        },
        onUnresponsive: (blocked) => {
          this.#settings.events.onUnresponsive?.();
          void blocked.core.recycle();
        },
        onOverdue: (overdue) => this.#retire(overdue),
      });
      if (predecessor) {
        worker.predecessor = predecessor;
        predecessor.successor = worker;
      }
      worker.core.setRef(this.#isRef);
      this.#workers = [...this.#workers, worker];
      return true;
    } catch (error) {
      this.#lost(asError(error), false);
      return false;
    }
  }

  #becameReady(worker: PoolWorker): void {
    const { predecessor } = worker;
    if (predecessor) {
      worker.predecessor = undefined;
      predecessor.successor = undefined;
      this.recycled += 1;
      this.#retire(predecessor);
      this.#startSuccessors();
    }
    this.#events.onReady();
  }

  /** The worker gets no more requests and ends after its last one. */
  #retire(worker: PoolWorker): void {
    if (worker.state === 'gone') return;
    worker.retire();
    if (worker.wanted === 0) this.#end(worker);
  }

  #checkLimits(worker: PoolWorker): void {
    if (recycleReason(worker, this.#settings) === undefined) return;
    worker.isWornOut = true;
    this.#startSuccessors();
  }

  #startSuccessors(): void {
    if (this.#closed || this.#pause) return;
    const replacing = this.#workers.filter((worker) => worker.predecessor !== undefined).length;
    let free = Math.ceil(this.#settings.size / 4) - replacing;
    for (const worker of this.#workers) {
      if (free <= 0) return;
      if (!worker.isWornOut || worker.successor || worker.state !== 'ready') continue;
      if (!this.#start(worker)) return;
      free -= 1;
    }
  }

  #lost(error: Error, diedTooOften: boolean): void {
    this.restarts += 1;
    const decision = this.#policy.next(performance.now(), Math.random());
    const pauseMs = decision.restart
      ? decision.delayMs
      : Math.max(decision.periodMs, diedTooOften ? this.#restartPeriodMs : 0);
    this.#pauseFor(pauseMs);
    this.#events.onLost(error);
    if (!decision.restart && this.#workers.length === 0) this.#events.onUnavailable(error, pauseMs);
  }

  /** Starts no worker before the time is over, then those that are missing. */
  #pauseFor(ms: number): void {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#startSuccessors();
      this.#events.onReady();
    }, ms);
    if (!this.#isRef) this.#pause.unref();
  }

  #end(worker: PoolWorker): void {
    this.#workers = this.#workers.filter((other) => other !== worker);
    const { predecessor, successor } = worker;
    if (predecessor) predecessor.successor = undefined;
    if (successor) successor.predecessor = undefined; // it now counts as a worker of its own
    const ended = worker.end().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  #sweep(): void {
    const { minIdle, minSize, idleTimeoutMs } = this.#settings;
    const idle = this.#workers.filter((worker) => worker.isAvailable && worker.load === 0 && !worker.isWornOut);
    const limits = { total: this.#census().total, minIdle, minSize, idleTimeoutMs };
    for (const worker of workersToEnd(idle, limits, performance.now())) this.#end(worker);
  }
}
