import type { RequestTimeoutError } from '../types/errors.js';
import type { PendingRequest } from './pending-request.js';
import { TimeLimit } from './time-limit.js';
import type { IsolatedWorkerSettings } from './worker-settings.js';

/** The longest delay of a timer in Node. Longer limits are ignored. */
const maxTimerMs = 2_147_483_647;

/** False for 0, which means none, and for more than a timer can wait. */
export function isLimit(limitMs: number): boolean {
  return limitMs > 0 && limitMs <= maxTimerMs;
}

/** The limits of one call. */
export interface CallLimits {
  /** For each attempt. */
  readonly timeout?: number;
  /** For all attempts together. */
  readonly totalTimeout?: number;
  /** What a pool's queue has left of the time of the first attempt. */
  readonly firstAttemptMs?: number;
}

/** Called when a limit of a request is exceeded: that of an attempt, or that of all attempts together. */
export type OnExpired = (request: PendingRequest, limitMs: number, limit: RequestTimeoutError['limit']) => void;

/**
 * The time limits of one worker's requests. The limit of an attempt counts from `send`, and anew when the request is sent
 * again after a crash. Limits from options are shared by many requests; that of a call is its own.
 */
export class TimeLimits {
  readonly #settings: IsolatedWorkerSettings;
  readonly #expire: OnExpired;
  readonly #shared = new Map<number, TimeLimit<PendingRequest>>();

  constructor(settings: IsolatedWorkerSettings, expire: OnExpired) {
    this.#settings = settings;
    this.#expire = expire;
  }

  /** Starts the time limits of a request. */
  watch(request: PendingRequest, { timeout, totalTimeout, firstAttemptMs }: CallLimits, nowMs: number): void {
    const { requestMs, requestMsByType, totalMs } = this.#settings;
    this.#watchTotal(request, totalTimeout ?? totalMs);
    const limitMs = timeout ?? requestMsByType.get(request.type) ?? requestMs;
    if (!isLimit(limitMs)) return;
    const limit = timeout === undefined ? this.#sharedLimit(limitMs) : this.#ownLimit(request, limitMs, limitMs);
    const first = firstAttemptMs === undefined ? limit : this.#ownLimit(request, firstAttemptMs, limitMs);
    request.limit = limit;
    first.add(request, nowMs);
  }

  stop(): void {
    for (const limit of this.#shared.values()) limit.stop();
  }

  #sharedLimit(limitMs: number): TimeLimit<PendingRequest> {
    const known = this.#shared.get(limitMs);
    if (known) return known;
    const limit = this.#newLimit(limitMs, limitMs);
    this.#shared.set(limitMs, limit);
    return limit;
  }

  #ownLimit(request: PendingRequest, waitMs: number, limitMs: number): TimeLimit<PendingRequest> {
    const limit = this.#newLimit(waitMs, limitMs);
    request.onSettled(() => limit.stop());
    return limit;
  }

  #newLimit(waitMs: number, limitMs: number): TimeLimit<PendingRequest> {
    return new TimeLimit(waitMs, (request) => this.#expire(request, limitMs, 'attempt'));
  }

  #watchTotal(request: PendingRequest, limitMs: number): void {
    if (!isLimit(limitMs)) return;
    const timer = setTimeout(() => this.#expire(request, limitMs, 'total'), limitMs);
    timer.unref(); // as in TimeLimit
    request.onSettled(() => clearTimeout(timer));
  }
}
