import type { Clock, Randomness } from '@drover/service-kit';

/** The shortest polling interval, and the step by which it grows. */
const stepMs = 100;
const jitter = 0.2;

/** Returns the polling interval after `emptyInARow` empty responses. */
export function pollWaitMs(emptyInARow: number, maxMs: number, randomness: Pick<Randomness, 'fraction'>): number {
  if (emptyInARow <= 1) return Math.min(stepMs, maxMs);
  const spread = 1 - jitter + 2 * jitter * randomness.fraction();
  // The exponent is bounded: 2 ** 40 steps are more than 3,000 years.
  return Math.min(maxMs, stepMs + stepMs * spread * 2 ** Math.min(emptyInARow - 2, 40));
}

/** Bound of the timers; messages beyond it are found by polling. */
const mostReturns = 1_024;

/** Notifies when hidden messages become visible again, so that they are received in time at any polling interval. */
export class ExpectedReturns {
  readonly #clock: Clock;
  readonly #onReturn: () => void;
  readonly #timers = new Set<() => void>();

  constructor(clock: Clock, onReturn: () => void) {
    this.#clock = clock;
    this.#onReturn = onReturn;
  }

  expect(delayMs: number): void {
    if (delayMs <= 0) return this.#onReturn();
    if (this.#timers.size >= mostReturns) return;
    const cancel = this.#clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      this.#onReturn();
    });
    this.#timers.add(cancel);
  }

  clear(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }
}
