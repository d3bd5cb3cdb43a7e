export interface AbandonedRequestLimits {
  /** 0: no limit. */
  readonly acknowledgeMs: number;
  /** 0: no limit. */
  readonly finishMs: number;
}

interface Timers {
  acknowledgement: NodeJS.Timeout | undefined;
  readonly end: NodeJS.Timeout | undefined;
}

/**
 * The requests of one worker whose callers gave up while the handler ran. Each is in one of these states:
 *
 * - cancelled: the worker was told. Without an acknowledgement within `acknowledgeMs`, its event loop is blocked: `onBlocked`.
 * - acknowledged: the signal of the handler is aborted. The handler may go on without harm to others, but only for `finishMs`
 *   from the cancellation: then `onOverdue`.
 *
 * It leaves when the handler ends or the worker dies.
 */
export class AbandonedRequests<Request extends object> {
  readonly #limits: AbandonedRequestLimits;
  readonly #onBlocked: (request: Request) => void;
  readonly #onOverdue: () => void;
  readonly #timers = new Map<Request, Timers>();

  constructor(
    limits: AbandonedRequestLimits,
    events: { readonly onBlocked: (request: Request) => void; readonly onOverdue: () => void },
  ) {
    this.#limits = limits;
    this.#onBlocked = events.onBlocked;
    this.#onOverdue = events.onOverdue;
  }

  get count(): number {
    return this.#timers.size;
  }

  add(request: Request): void {
    const { acknowledgeMs, finishMs } = this.#limits;
    this.#timers.set(request, {
      acknowledgement: after(acknowledgeMs, () => this.#onBlocked(request)),
      end: after(finishMs, this.#onOverdue),
    });
  }

  acknowledge(request: Request): void {
    const timers = this.#timers.get(request);
    if (!timers) return;
    clearTimeout(timers.acknowledgement);
    timers.acknowledgement = undefined;
  }

  remove(request: Request): void {
    const timers = this.#timers.get(request);
    if (!timers) return;
    this.#timers.delete(request);
    clearTimeout(timers.acknowledgement);
    clearTimeout(timers.end);
  }

  clear(): void {
    for (const request of this.#timers.keys()) this.remove(request);
  }
}

/** The worker keeps this process alive as long as there is something to wait for, so the timers need not. */
function after(ms: number, action: () => void): NodeJS.Timeout | undefined {
  return ms > 0 ? setTimeout(action, ms).unref() : undefined;
}
