import type { Clock, Observe } from '@drover/service-kit';
import type { WorkerClient } from 'isolated-workers';
import type { Attempt, AttemptResult } from '../dispatcher.js';
import { chooseWorker } from './choose-worker.js';
import type { LocalMessages } from './local-messages.js';
import { LocalWorkerHandle, type LocalWorkerLimits } from './local-worker-handle.js';
import type { LocalObservation } from './observations.js';

export interface LocalPoolOptions {
  readonly tenantId: string;
  readonly functionName: string;
  /** Starts one worker. */
  readonly open: () => Promise<WorkerClient<LocalMessages>>;
  /** Workers at most. */
  readonly maxWorkers: number;
  readonly limits: LocalWorkerLimits;
  readonly clock: Clock;
  readonly observe: Observe<LocalObservation>;
}

/** Whoever cannot be started is not tried again at once: starting costs more than the call. */
const restMs = 1_000;
/** A worker beside the first ends after this long without a call. */
const spareIdleMs = 60_000;

/** The workers of one incarnation of a function. They belong to one tenant, and run nothing else, ever. */
export class LocalPool {
  readonly #options: LocalPoolOptions;
  /** Replaced, never shortened: whoever goes through it may let go of some on the way. */
  #workers: LocalWorkerHandle[] = [];
  #rest: { readonly result: AttemptResult; readonly untilMs: number } | undefined;
  readonly #closing = new Set<Promise<void>>();
  #whenGone: (() => void) | undefined;
  lastUsedMs: number;

  constructor(options: LocalPoolOptions) {
    this.#options = options;
    this.lastUsedMs = options.clock.monotonicMs();
  }

  /** Calls in hand, those that nobody wants any more included. */
  get load(): number {
    return this.#workers.reduce((sum, { load }) => sum + load, 0);
  }

  /** Calls that somebody waits for. */
  get wanted(): number {
    return this.#workers.reduce((sum, { wanted }) => sum + wanted, 0);
  }

  /** Whose it is, for observations. */
  get of(): { readonly tenantId: string; readonly function: string } {
    return { tenantId: this.#options.tenantId, function: this.#options.functionName };
  }

  get pids(): number[] {
    return this.#workers.flatMap(({ pid }) => pid ?? []);
  }

  run(attempt: Attempt): Promise<AttemptResult> {
    const nowMs = this.#options.clock.monotonicMs();
    this.lastUsedMs = nowMs;
    if (this.#rest) {
      if (nowMs < this.#rest.untilMs) return Promise.resolve(this.#rest.result);
      this.#rest = undefined;
    }
    const { concurrency } = attempt.definition;
    const size = Math.min(concurrency, this.#options.maxWorkers);
    const worker = chooseWorker(this.#workers, { size, share: Math.ceil(concurrency / size), nowMs });
    return (worker ?? this.#start()).run(attempt, nowMs);
  }

  /** Ends workers beside the first that have nothing to do. */
  tidy(nowMs: number): void {
    for (const worker of this.#workers.slice(1))
      if (worker.load === 0 && worker.isReady && nowMs - worker.heardMs >= spareIdleMs) worker.retire();
  }

  /** No more calls come; each worker ends after its last. Resolves when all are gone. */
  retire(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenGone = resolve;
      for (const worker of this.#workers) worker.retire();
      this.#tellGone();
    });
  }

  /** Ends all workers at once. */
  async close(): Promise<void> {
    for (const worker of this.#workers) this.#drop(worker);
    await Promise.all(this.#closing);
  }

  #start(): LocalWorkerHandle {
    const { open, clock, limits, observe } = this.#options;
    const { of } = this;
    const worker = new LocalWorkerHandle(open, {
      clock,
      limits,
      events: {
        onUseless: (useless, result) => {
          this.#rest = { result, untilMs: clock.monotonicMs() + restMs };
          if (!this.#workers.includes(useless)) return;
          observe({ kind: 'local.useless', ...of, text: 'message' in result ? result.message : result.kind });
          this.#drop(useless);
        },
        onSpent: (spent) => this.#drop(spent),
        onStuck: () => observe({ kind: 'local.stuck', ...of }),
        onCrash: (text) => observe({ kind: 'local.crashed', ...of, text }),
      },
    });
    this.#workers.push(worker);
    return worker;
  }

  #drop(worker: LocalWorkerHandle): void {
    this.#workers = this.#workers.filter((other) => other !== worker);
    const closed = worker.close().finally(() => {
      this.#closing.delete(closed);
      this.#tellGone();
    });
    this.#closing.add(closed);
  }

  #tellGone(): void {
    if (this.#workers.length === 0 && this.#closing.size === 0) this.#whenGone?.();
  }
}
