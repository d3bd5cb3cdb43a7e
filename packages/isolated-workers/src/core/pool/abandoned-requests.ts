import { afterTurning } from '../turning-time.js';

export interface AbandonedRequestLimits {
  /** 0: no limit. */
  readonly acknowledgeMs: number;
  /** 0: no limit. */
  readonly finishMs: number;
}

interface Timers {
  stopAcknowledgement: (() => void) | undefined;
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
      stopAcknowledgement: acknowledgeMs > 0 ? afterTurning(acknowledgeMs, () => this.#onBlocked(request)) : undefined,
      // The worker keeps this process alive as long as there is something to wait for, so the timer need not.
      end: finishMs > 0 ? setTimeout(this.#onOverdue, finishMs).unref() : undefined,
    });
  }

  acknowledge(request: Request): void {
    const timers = this.#timers.get(request);
    if (!timers) return;
    timers.stopAcknowledgement?.();
    timers.stopAcknowledgement = undefined;
  }

  remove(request: Request): void {
    const timers = this.#timers.get(request);
    if (!timers) return;
    this.#timers.delete(request);
    timers.stopAcknowledgement?.();
    clearTimeout(timers.end);
  }

  clear(): void {
    for (const request of this.#timers.keys()) this.remove(request);
  }
}
