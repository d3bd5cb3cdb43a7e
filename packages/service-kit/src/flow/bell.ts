import type { Clock } from '../time/clock.js';

/**
 * Wakes a loop that looks for work: ring it when there may be some. A ring while the loop is busy is not lost, and many
 * are one. The loop calls `answered` before it looks, and `wait` when it found nothing.
 */
export class Bell {
  #rung = false;
  #wake: () => void = () => undefined;

  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  answered(): void {
    this.#rung = false;
  }

  /** Resolves at the next ring (at once if one came since `answered`), after `atMostMs`, or when `signal` aborts. */
  wait(clock: Clock, atMostMs: number, signal: AbortSignal): Promise<void> {
    if (this.#rung || signal.aborted) return Promise.resolve();
    // By hand: AbortSignal.any leaks on Node 20 when one of its signals lives long, and this waits thousands of times.
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
