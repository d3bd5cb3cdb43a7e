import { sleep, type Clock } from '../time/clock.js';

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
  async wait(clock: Clock, atMostMs: number, signal: AbortSignal): Promise<void> {
    if (this.#rung || signal.aborted) return;
    const awake = new AbortController();
    this.#wake = () => awake.abort();
    await sleep(clock, atMostMs, AbortSignal.any([awake.signal, signal])).catch(() => undefined);
    this.#wake = () => undefined;
  }
}
