import {
  QuarantinedError,
  RequestTimeoutError,
  WorkerCrashedError,
  WorkerUnavailableError,
} from '../../types/errors.js';
import type { SendOptions } from '../../types/worker.js';
import type { PendingRequest, RequestCallbacks } from '../pending-request.js';
import type { PoolWorker } from './pool-worker.js';

export interface PoolRequestEvents {
  /** It is done with its worker, which is free for another. */
  readonly onReleased: (worker: PoolWorker) => void;
  /** Its worker is lost and had not begun with it: it may go to another. */
  readonly onReturned: (request: PoolRequest) => void;
  /** It is settled without ever having had a worker. */
  readonly onLeft: (request: PoolRequest) => void;
  /** It killed this many workers, with nothing beside it. */
  readonly onKilled: (request: PoolRequest, times: number) => void;
}

/** A request from the common queue to a worker: time limit and signal count from the beginning, also while it waits. */
export class PoolRequest implements RequestCallbacks {
  readonly type: string;
  readonly payload: unknown;
  readonly onProgress: RequestCallbacks['onProgress'];
  readonly onItem: RequestCallbacks['onItem'];
  readonly #options: SendOptions;
  readonly #limitMs: number;
  readonly #callbacks: RequestCallbacks;
  readonly #credit: number;
  readonly #events: PoolRequestEvents;
  #worker: PoolWorker | undefined;
  #inner: PendingRequest | undefined;
  #deadlineMs: number | undefined;
  #stopWaiting: (() => void) | undefined;
  #settled = false;

  constructor(
    facts: {
      readonly type: string;
      readonly payload: unknown;
      readonly options: SendOptions;
      readonly limitMs: number;
      readonly credit: number;
    },
    callbacks: RequestCallbacks,
    events: PoolRequestEvents,
  ) {
    this.type = facts.type;
    this.payload = facts.payload;
    this.#options = facts.options;
    this.#limitMs = facts.limitMs;
    this.#credit = facts.credit;
    this.#callbacks = callbacks;
    this.onProgress = callbacks.onProgress;
    this.onItem = callbacks.onItem;
    this.#events = events;
  }

  /** No worker is free: from now on it waits. */
  wait(): void {
    const { signal } = this.#options;
    const giveUp = (): void => this.#leave(signal?.reason);
    signal?.addEventListener('abort', giveUp, { once: true });
    let timer: NodeJS.Timeout | undefined;
    if (this.#limitMs > 0) {
      const nowMs = performance.now();
      this.#deadlineMs ??= nowMs + this.#limitMs;
      const late = (): void => this.#leave(new RequestTimeoutError(this.type, this.#limitMs));
      timer = setTimeout(late, Math.max(0, this.#deadlineMs - nowMs));
    }
    this.#stopWaiting = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    };
  }

  /** Goes to a worker that has room for it, which answers to `resolve` or `reject`. */
  start(worker: PoolWorker): void {
    this.#stopWaiting?.();
    this.#worker = worker;
    worker.take();
    const leftMs = this.#deadlineMs === undefined ? undefined : Math.max(1, this.#deadlineMs - performance.now());
    const options = leftMs === undefined ? this.#options : { ...this.#options, timeout: leftMs };
    const inner = worker.core.request(this.type, this.payload, options, this, this.#credit);
    if (!inner.settled) this.#inner = inner;
  }

  grant(items: number): void {
    if (this.#inner) this.#worker?.core.grant(this.#inner, items);
  }

  /** The caller wants no more. */
  abandon(reason: unknown): void {
    if (this.#inner) this.#worker?.core.abandon(this.#inner, reason);
    else this.#leave(reason);
  }

  /** It never had a worker, and will have none. */
  refuse(error: Error): void {
    this.#stopWaiting?.();
    if (this.#settle()) this.#callbacks.reject(error);
  }

  resolve(value: unknown): void {
    if (this.#settle()) this.#callbacks.resolve(value);
    this.#release();
  }

  reject(error: unknown): void {
    const attempt = this.#inner?.attempt ?? 1;
    // A suspect stays with its own worker to the end, so that it cannot take down one after the other.
    if (error instanceof WorkerUnavailableError && attempt === 1) {
      this.#release();
      return this.#events.onReturned(this);
    }
    // Every further try ran on probation, with nothing beside it; the first did when its worker had nothing else.
    if (error instanceof WorkerCrashedError)
      this.#events.onKilled(this, this.#worker?.loadAtDeath === 1 ? attempt : attempt - 1);
    if (error instanceof QuarantinedError) this.#events.onKilled(this, error.kills);
    const told =
      error instanceof RequestTimeoutError && this.#deadlineMs !== undefined
        ? new RequestTimeoutError(this.type, this.#limitMs)
        : error;
    if (this.#settle()) this.#callbacks.reject(told);
    this.#release();
  }

  #release(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#inner = undefined;
    if (!worker) return;
    worker.release();
    this.#events.onReleased(worker);
  }

  #leave(reason: unknown): void {
    if (this.#worker || !this.#settle()) return;
    this.#stopWaiting?.();
    this.#callbacks.reject(reason);
    this.#events.onLeft(this);
  }

  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    return true;
  }
}
