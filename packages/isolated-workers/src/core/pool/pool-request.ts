import {
  QuarantinedError,
  RequestTimeoutError,
  WorkerCrashedError,
  WorkerUnavailableError,
} from '../../types/errors.js';
import type { SendOptions } from '../../types/worker.js';
import { onAbort } from '../abort-listeners.js';
import type { PendingRequest, RequestCallbacks } from '../pending-request.js';
import type { Queueable, QueuePlace } from '../request-queue.js';
import { isLimit } from '../time-limits.js';
import type { AssignedRequest, PoolWorker } from './pool-worker.js';

export interface PoolRequestEvents {
  /** The worker has room for another request. */
  readonly onReleased: (worker: PoolWorker) => void;
  /** The worker was lost before it began the request: another worker may run it. */
  readonly onReturned: (request: PoolRequest) => void;
  /** The request was settled while it waited for a worker. */
  readonly onLeft: (request: PoolRequest) => void;
  /** The request killed this many workers with no other request beside it. */
  readonly onKilled: (request: PoolRequest, times: number) => void;
}

/**
 * One request of a pool. Its time limit and signal apply from `send` on, also in the queue.
 *
 * - queued: `wait` was called and it has no worker. Leaves by `start`, `refuse`, its time limit or its signal.
 * - assigned: has a worker; with `batch` it is sent at the end of the turn. A caller that gives up before takes it back.
 * - sent: the worker's own crash handling decides about it. Returns to the queue if that worker is lost before it began.
 * - abandoned: settled, because the caller gave up, but the handler runs: it occupies its worker until the handler ends.
 * - settled, and without a worker.
 */
export class PoolRequest implements RequestCallbacks, AssignedRequest, Queueable<PoolRequest> {
  readonly type: string;
  readonly payload: unknown;
  readonly priority: number;
  /** When it began to wait for a worker. */
  sinceMs: number;
  place: QueuePlace<PoolRequest> | undefined;
  readonly onProgress: RequestCallbacks['onProgress'];
  readonly onItem: RequestCallbacks['onItem'];
  readonly #options: SendOptions;
  readonly #limitMs: number;
  readonly #credit: number;
  readonly #events: PoolRequestEvents;
  /** Undefined once it is settled. */
  #callbacks: RequestCallbacks | undefined;
  #worker: PoolWorker | undefined;
  #inner: PendingRequest | undefined;
  /** When the time of the first attempt is over, for a request that waited; later attempts have the limit anew. */
  #deadlineMs: number | undefined;
  #totalTimer: NodeJS.Timeout | undefined;
  #stopWaiting: (() => void) | undefined;
  #isAbandoned = false;

  constructor(
    facts: {
      readonly type: string;
      readonly payload: unknown;
      readonly options: SendOptions;
      readonly limitMs: number;
      readonly credit: number;
      readonly sinceMs: number;
    },
    callbacks: RequestCallbacks,
    events: PoolRequestEvents,
  ) {
    this.type = facts.type;
    this.payload = facts.payload;
    this.priority = facts.options.priority ?? 0;
    this.#options = facts.options.totalTimeout === undefined ? facts.options : { ...facts.options, totalTimeout: 0 };
    this.#limitMs = facts.limitMs;
    this.#credit = facts.credit;
    this.sinceMs = facts.sinceMs;
    this.#callbacks = callbacks;
    this.onProgress = callbacks.onProgress;
    this.onItem = callbacks.onItem;
    this.#events = events;
  }

  get settled(): boolean {
    return this.#callbacks === undefined;
  }

  get isOldest(): boolean {
    return this.#inner !== undefined && this.#worker?.core.isOldest(this.#inner) === true;
  }

  /** Starts the time limit of all attempts together, wherever the request is. */
  limitTotal(limitMs: number): void {
    this.#totalTimer = setTimeout(() => {
      if (this.#inner) this.#worker?.core.expire(this.#inner, limitMs, 'total');
      else this.abandon(new RequestTimeoutError(this.type, limitMs, 'total'));
    }, limitMs);
    this.#totalTimer.unref(); // workers keep the process alive while a caller waits
  }

  /** Begins to wait in the queue. */
  wait(): void {
    const { signal } = this.#options;
    const ignoreSignal = signal && onAbort(signal, () => this.#leave(signal.reason));
    let timer: NodeJS.Timeout | undefined;
    if (isLimit(this.#limitMs)) {
      const nowMs = performance.now();
      this.#deadlineMs ??= nowMs + this.#limitMs;
      const late = (): void => this.#leave(new RequestTimeoutError(this.type, this.#limitMs));
      timer = setTimeout(late, Math.max(0, this.#deadlineMs - nowMs));
    }
    this.#stopWaiting = () => {
      clearTimeout(timer);
      ignoreSignal?.();
    };
  }

  /** Assigns the request to a worker that has room for it. */
  start(worker: PoolWorker, nowMs: number): void {
    this.#stopWaiting?.();
    this.#worker = worker;
    worker.assign(this, nowMs);
  }

  send(): void {
    const worker = this.#worker;
    if (!worker || !this.#callbacks) return; // the caller gave up in the same turn
    if (worker.state === 'gone') return this.#giveBack();
    const options =
      this.#deadlineMs === undefined
        ? this.#options
        : { ...this.#options, firstAttemptMs: Math.max(1, this.#deadlineMs - performance.now()) };
    try {
      const inner = worker.core.request(this.type, this.payload, options, this, this.#credit, this.sinceMs);
      if (!inner.settled) this.#inner = inner;
    } catch (error) {
      this.reject(error); // by a `txIdGenerator` or `traceparent` of the caller
    }
  }

  grant(items: number): void {
    if (this.#inner) this.#worker?.core.grant(this.#inner, items);
  }

  /** Rejects the request, because its caller gave up. */
  abandon(reason: unknown): void {
    if (!this.#callbacks) return;
    if (this.#inner) this.#worker?.core.abandon(this.#inner, reason);
    else if (this.#worker) {
      this.#settle()?.reject(reason);
      this.#release();
    } else this.#leave(reason);
  }

  /** Rejects a request that has no worker and gets none. */
  refuse(error: unknown): void {
    this.#stopWaiting?.();
    this.#settle()?.reject(error);
  }

  resolve(value: unknown): void {
    this.#settle()?.resolve(value);
    this.#release();
  }

  reject(error: unknown): void {
    const attempt = this.#inner?.attempt ?? 1;
    // A suspect stays with its own worker to the end, so that it cannot kill one worker after the other.
    if (error instanceof WorkerUnavailableError && attempt === 1) return this.#giveBack();
    // Every further attempt ran on probation, with nothing beside it; the first did when its worker had no other request.
    if (error instanceof WorkerCrashedError)
      this.#events.onKilled(this, this.#worker?.loadAtDeath === 1 ? attempt : attempt - 1);
    if (error instanceof QuarantinedError) this.#events.onKilled(this, error.kills);
    this.#settle()?.reject(error);
    if (this.#isAbandoned && this.#worker) this.#events.onReleased(this.#worker);
    else this.#release();
  }

  onAbandoned(): void {
    this.#isAbandoned = true;
    this.#worker?.abandon(this);
  }

  onCancelAcknowledged(): void {
    this.#worker?.acknowledge(this);
  }

  onHandlerEnded(): void {
    this.#release();
  }

  #giveBack(): void {
    this.sinceMs = performance.now();
    this.#release();
    this.#deadlineMs = undefined;
    this.#events.onReturned(this);
  }

  #release(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#inner = undefined;
    if (!worker) return;
    worker.release(this);
    this.#events.onReleased(worker);
  }

  #leave(reason: unknown): void {
    if (this.#worker || !this.#callbacks) return;
    this.#stopWaiting?.();
    this.#settle()?.reject(reason);
    this.#events.onLeft(this);
  }

  /** Returns the callbacks to the first settlement only. */
  #settle(): RequestCallbacks | undefined {
    const callbacks = this.#callbacks;
    this.#callbacks = undefined;
    clearTimeout(this.#totalTimer);
    return callbacks;
  }
}
