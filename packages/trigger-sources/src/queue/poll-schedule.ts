import type { Clock, Randomness } from '@drover/service-kit';

/** Where every pause begins, and what it grows by. */
const stepMs = 100;
const jitter = 0.2;

/** How long to wait before the next look, after looking in vain `emptyInARow` times. */
export function pollWaitMs(emptyInARow: number, maxMs: number, randomness: Pick<Randomness, 'fraction'>): number {
  if (emptyInARow <= 1) return Math.min(stepMs, maxMs);
  const spread = 1 - jitter + 2 * jitter * randomness.fraction();
  // 2 ** 40 steps are more than thirty years.
  return Math.min(maxMs, stepMs + stepMs * spread * 2 ** Math.min(emptyInARow - 2, 40));
}

/** Messages that were put off and whose time is remembered; any further one is found by polling. */
const mostReturns = 1_024;

/** Tells when messages that were put off can be received again, so that polling need not be frequent to be punctual. */
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
