import type { PendingRequest } from './pending-request.js';
import { TimeLimit } from './time-limit.js';
import type { IsolatedWorkerSettings } from './worker-settings.js';

/** The longest delay of a timer in Node. Longer limits are ignored. */
const maxTimerMs = 2_147_483_647;

/** The time limits of one worker's requests. Limits from options are shared by many requests; that of a call is its own. */
export class TimeLimits {
  readonly #settings: IsolatedWorkerSettings;
  readonly #expire: (request: PendingRequest, limitMs: number) => void;
  readonly #shared = new Map<number, TimeLimit<PendingRequest>>();

  constructor(settings: IsolatedWorkerSettings, expire: (request: PendingRequest, limitMs: number) => void) {
    this.#settings = settings;
    this.#expire = expire;
  }

  /** Starts the time limit of a request. `ownMs` is the limit of the call itself. */
  watch(request: PendingRequest, ownMs: number | undefined): void {
    const { requestMs, requestMsByType } = this.#settings;
    const limitMs = ownMs ?? requestMsByType.get(request.type) ?? requestMs;
    if (limitMs <= 0 || limitMs > maxTimerMs) return;
    const limit = ownMs === undefined ? this.#sharedLimit(limitMs) : this.#newLimit(limitMs);
    limit.add(request);
    if (ownMs === undefined) request.limit = limit;
    else request.onSettled(() => limit.stop());
  }

  stop(): void {
    for (const limit of this.#shared.values()) limit.stop();
  }

  #sharedLimit(limitMs: number): TimeLimit<PendingRequest> {
    const known = this.#shared.get(limitMs);
    if (known) return known;
    const limit = this.#newLimit(limitMs);
    this.#shared.set(limitMs, limit);
    return limit;
  }

  #newLimit(limitMs: number): TimeLimit<PendingRequest> {
    return new TimeLimit(limitMs, (request) => this.#expire(request, limitMs));
  }
}
