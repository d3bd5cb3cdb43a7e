import type { PendingRequest } from './pending-request.js';
import { TimeLimit } from './time-limit.js';
import type { WorkerSettings } from './worker-settings.js';

/** The longest that a timer of Node can wait; whatever is longer is no limit. */
const longestTimerMs = 2_147_483_647;

/** The time limits of one worker's requests. Those of the options are shared by many requests; that of one call is its own. */
export class TimeLimits {
  readonly #settings: WorkerSettings;
  readonly #expire: (request: PendingRequest, limitMs: number) => void;
  readonly #shared = new Map<number, TimeLimit<PendingRequest>>();

  constructor(settings: WorkerSettings, expire: (request: PendingRequest, limitMs: number) => void) {
    this.#settings = settings;
    this.#expire = expire;
  }

  /** From now on its time runs; `ownMs` is what the call itself asked for. */
  watch(request: PendingRequest, ownMs: number | undefined): void {
    const { requestMs, requestMsByType } = this.#settings;
    const limitMs = ownMs ?? requestMsByType.get(request.type) ?? requestMs;
    if (limitMs <= 0 || limitMs > longestTimerMs) return;
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
