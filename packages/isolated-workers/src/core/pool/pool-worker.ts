import { WorkerCore } from '../worker.js';
import type { AnyWorkerOptions } from '../worker-settings.js';
import type { Driver } from '../../types/driver.js';
import { WorkerUnavailableError, type CrashFacts } from '../../types/errors.js';
import { watchedDriver } from './watched-driver.js';

/**
 * Where a worker of a pool stands.
 * - `starting`: it was never ready; it has no requests.
 * - `ready`: it takes requests.
 * - `restarting`: its life ended unplanned and another begins; it keeps its requests and takes no others.
 * - `retiring`: its successor is ready; it takes no more requests and ends after its last.
 * - `gone`: it is ending or has ended; nobody looks at it any more.
 */
export type PoolWorkerState = 'starting' | 'ready' | 'restarting' | 'retiring' | 'gone';

export interface PoolWorkerEvents {
  /** It takes requests, for the first time or again. */
  readonly onReady: (worker: PoolWorker) => void;
  /** A life ended and another begins. */
  readonly onRestart: (worker: PoolWorker) => void;
  /** It did not start, or died too often: it will never answer again. */
  readonly onLost: (worker: PoolWorker, error: Error) => void;
}

/** One worker of a pool: counts what it has in hand and what it has done. */
export class PoolWorker {
  readonly core: WorkerCore;
  state: PoolWorkerState = 'starting';
  load = 0;
  /** What it had in hand when its last life ended. */
  loadAtDeath = 0;
  lastUsedMs = performance.now();
  /** Requests of this life. */
  served = 0;
  rssBytes: number | undefined;
  sampledMs = 0;
  /** It has had its time and waits for its successor. */
  outworn = false;
  successor: PoolWorker | undefined;
  /** Whose place it takes once it is ready. */
  predecessor: PoolWorker | undefined;
  readonly #events: PoolWorkerEvents;

  constructor(options: AnyWorkerOptions, driver: Driver, events: PoolWorkerEvents) {
    this.#events = events;
    this.core = new WorkerCore({
      ...options,
      driver: watchedDriver(driver, {
        onStart: () => this.#begin(),
        onReady: () => this.#becomeReady(),
        onDying: () => {
          this.loadAtDeath = this.load;
          if (this.state === 'ready') this.state = 'restarting';
        },
        onDied: (facts) => this.#died(facts),
      }),
    });
    this.core.started().catch((error: unknown) => {
      if (this.state === 'starting') this.#lose(error instanceof Error ? error : new Error(String(error)));
    });
  }

  take(): void {
    this.load += 1;
    this.lastUsedMs = performance.now();
  }

  release(): void {
    this.load -= 1;
    this.served += 1;
    this.lastUsedMs = performance.now();
  }

  end(): Promise<void> {
    this.state = 'gone';
    return this.core.close();
  }

  #begin(): void {
    this.served = 0;
    this.rssBytes = undefined;
    if (!this.successor) this.outworn = false;
    if (this.state === 'restarting') this.#events.onRestart(this);
  }

  #becomeReady(): void {
    if (this.state !== 'starting' && this.state !== 'restarting') return;
    this.state = 'ready';
    this.lastUsedMs = performance.now();
    this.#events.onReady(this);
  }

  #died({ stderr }: CrashFacts): void {
    // One that was never ready is told by `started`, which knows more.
    if (this.state === 'starting' || this.state === 'gone' || this.core.state !== 'unavailable') return;
    const last = stderr.trim().split('\n').at(-1);
    this.#lose(new WorkerUnavailableError(`the workers of the pool died too often${last ? `: ${last}` : ''}`));
  }

  #lose(error: Error): void {
    this.state = 'gone';
    this.#events.onLost(this, error);
  }
}
