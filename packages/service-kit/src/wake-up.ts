import type { Clock } from './time/clock.js';

/**
 * Wakes a loop that polls for work. Notifications that arrive while the loop is busy are remembered and coalesced into one.
 * The loop calls `reset` before it looks for work and `wait` after it found none, so that no notification is lost in between.
 */
export class WakeUp {
  #isNotified = false;
  #wake: () => void = () => undefined;

  notify(): void {
    this.#isNotified = true;
    this.#wake();
  }

  reset(): void {
    this.#isNotified = false;
  }

  /** Resolves on `notify` (at once if one arrived since `reset`), after `atMostMs`, or when `signal` aborts. Never rejects. */
  wait(clock: Clock, atMostMs: number, signal: AbortSignal): Promise<void> {
    if (this.#isNotified || signal.aborted) return Promise.resolve();
    // Not AbortSignal.any: on Node 20 it leaks when one of its signals is long-lived, and a loop waits thousands of times.
    return new Promise((resolve) => {
      const finish = (): void => {
        cancelTimer();
        signal.removeEventListener('abort', finish);
        this.#wake = () => undefined;
        resolve();
      };
      const cancelTimer = clock.after(atMostMs, finish);
      signal.addEventListener('abort', finish, { once: true });
      this.#wake = finish;
    });
  }
}
