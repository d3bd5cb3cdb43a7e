import { WorkerCore } from '../worker.js';
import type { CrashFacts } from '../../types/errors.js';
import { unavailableAfter } from '../crash-report.js';
import { AbandonedRequests } from './abandoned-requests.js';
import type { WorkerLoad } from './choose-worker.js';
import type { PoolSettings } from './pool-settings.js';
import { watchedDriver } from './watched-driver.js';
import { asError } from '../wire/error-data.js';

/**
 * The states of a worker in a pool, each with those that may follow it.
 *
 * - `starting`: has never been ready and has no requests
 * - `ready`: gets requests
 * - `restarting`: died and is being restarted; keeps its requests and gets no others
 * - `retiring`: gets no more requests and ends after its last one: its successor is ready, or a cancelled handler does not end
 * - `gone`: is ending or has ended
 */
export const poolWorkerStates = {
  starting: ['ready', 'gone'],
  ready: ['restarting', 'retiring', 'gone'],
  restarting: ['ready', 'retiring', 'gone'],
  retiring: ['gone'],
  gone: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type PoolWorkerState = keyof typeof poolWorkerStates;

export interface PoolWorkerEvents {
  /** The worker accepts requests, for the first time or again. */
  readonly onReady: (worker: PoolWorker) => void;
  /** The worker died and is being started again. */
  readonly onRestart: (worker: PoolWorker) => void;
  /** The worker did not start, or died too often (`diedTooOften`), and is not started again. */
  readonly onLost: (worker: PoolWorker, error: Error, diedTooOften: boolean) => void;
  /** The event loop of the worker is blocked by a cancelled request. */
  readonly onUnresponsive: (worker: PoolWorker) => void;
  /** A cancelled handler of the worker has not ended in time. */
  readonly onOverdue: (worker: PoolWorker) => void;
}

/** What a worker needs to know of a request of the pool. */
export interface AssignedRequest {
  /** Hands the request to the worker process or thread. */
  send(): void;
  /** True when no older request of the worker waits for an answer. */
  readonly isOldest: boolean;
}

/** One worker of a pool, across its restarts: counts its requests and supervises abandoned ones. */
export class PoolWorker implements WorkerLoad {
  readonly core: WorkerCore;
  #state: PoolWorkerState = 'starting';
  load = 0;
  /** `load` at the moment of its last death. */
  loadAtDeath = 0;
  lastUsedMs = performance.now();
  heardMs = this.lastUsedMs;
  /** It has not acknowledged a cancellation in time and has not answered anything since. */
  isUnresponsive = false;
  /** Requests since its last start. */
  served = 0;
  rssBytes: number | undefined;
  sampledMs = 0;
  /** It has reached a limit and serves until its successor is ready. */
  isWornOut = false;
  successor: PoolWorker | undefined;
  /** The worker it replaces once it is ready. */
  predecessor: PoolWorker | undefined;
  readonly #events: PoolWorkerEvents;
  readonly #batch: boolean;
  readonly #abandoned: AbandonedRequests<AssignedRequest>;
  /** Requests that are sent at the end of this turn of the event loop. */
  #outbox: AssignedRequest[] = [];

  constructor(settings: PoolSettings, events: PoolWorkerEvents) {
    const { workerOptions, worker, batch, acknowledgeMs, finishMs } = settings;
    this.#events = events;
    this.#batch = batch;
    this.#abandoned = new AbandonedRequests(
      { acknowledgeMs, finishMs },
      { onBlocked: (request) => this.#blocked(request), onOverdue: () => events.onOverdue(this) },
    );
    const options = {
      ...workerOptions,
      driver: watchedDriver(worker.driver, {
        onStart: () => this.#begin(),
        onReady: () => this.#becomeReady(),
        onDying: () => {
          this.loadAtDeath = this.load;
          if (this.state === 'ready') this.#move('restarting');
        },
        onDied: (facts) => this.#died(facts),
      }),
    };
    this.core = new WorkerCore(options, { times: settings.times, onStuck: settings.events.onUnresponsive });
    this.core.started().catch((error: unknown) => {
      if (this.state === 'starting') this.#lose(asError(error), false);
    });
  }

  get state(): PoolWorkerState {
    return this.#state;
  }

  get isAvailable(): boolean {
    return this.state === 'ready' && !this.isUnresponsive;
  }

  get wanted(): number {
    return this.load - this.#abandoned.count;
  }

  get abandoned(): number {
    return this.#abandoned.count;
  }

  /** Reserves room for a request and sends it. The request must call `release` when the worker is done with it. */
  assign(request: AssignedRequest, nowMs: number): void {
    if (this.load === 0) this.heardMs = nowMs; // it had nothing to answer, so it was not silent
    this.load += 1;
    this.lastUsedMs = nowMs;
    if (!this.#batch) return request.send();
    this.#outbox.push(request);
    if (this.#outbox.length === 1) setImmediate(this.#sendAll);
  }

  release(request: AssignedRequest): void {
    this.load -= 1;
    this.served += 1;
    if (this.#abandoned.count > 0) this.#abandoned.remove(request);
    this.heard();
    this.lastUsedMs = this.heardMs;
  }

  /** The caller gave up while the handler ran: it keeps counting as load, not as wanted, until it is released. */
  abandon(request: AssignedRequest): void {
    this.#abandoned.add(request);
  }

  acknowledge(request: AssignedRequest): void {
    this.#abandoned.acknowledge(request);
    this.heard();
  }

  /** Records that the worker has sent something: its event loop turns. */
  heard(): void {
    this.heardMs = performance.now();
    this.isUnresponsive = false;
  }

  /** Gives the worker no more requests. `end` must follow when none is wanted. */
  retire(): void {
    this.#move('retiring');
  }

  end(): Promise<void> {
    this.#move('gone');
    this.#abandoned.clear();
    return this.core.close();
  }

  /** Throws for a step that the table does not have, which is a defect of this library. */
  #move(to: PoolWorkerState): void {
    if (this.#state === to) return;
    const next: readonly PoolWorkerState[] = poolWorkerStates[this.#state];
    if (!next.includes(to))
      throw new Error(
        `A worker of the pool cannot go from ${this.#state} to ${to}. Report this as a defect of isolated-workers.`,
      );
    this.#state = to;
  }

  readonly #sendAll = (): void => {
    const requests = this.#outbox;
    this.#outbox = [];
    for (const request of requests) request.send();
  };

  #begin(): void {
    this.served = 0;
    this.rssBytes = undefined;
    this.isUnresponsive = false;
    if (!this.successor) this.isWornOut = false;
    if (this.state === 'restarting') this.#events.onRestart(this);
  }

  #becomeReady(): void {
    if (this.state !== 'starting' && this.state !== 'restarting') return;
    this.#move('ready');
    this.lastUsedMs = performance.now();
    this.#events.onReady(this);
  }

  /** An older request that still has its caller may be the one that computes, and has time until its own limit. */
  #blocked(request: AssignedRequest): void {
    this.isUnresponsive = true;
    if (request.isOldest) this.#events.onUnresponsive(this);
  }

  #died(facts: CrashFacts): void {
    // `started` reports a worker that was never ready, with a better reason.
    if (this.state === 'starting' || this.state === 'gone' || this.core.state !== 'unavailable') return;
    this.#lose(unavailableAfter('The workers of the pool died too often', facts), true);
  }

  #lose(error: Error, diedTooOften: boolean): void {
    this.#move('gone');
    this.#events.onLost(this, error, diedTooOften);
  }
}
