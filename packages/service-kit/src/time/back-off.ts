import type { Clock } from './clock.js';
import { sleep } from './clock.js';
import type { Randomness } from './randomness.js';

export interface BackOffPolicy {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Growth from one delay to the next; 2 doubles it. */
  readonly factor: number;
}

/** Returns the delay after failure number `attempt` (the first is 1) without jitter: grows by the factor up to `maxMs`. */
export function backOffCeilingMs({ firstMs, maxMs, factor }: BackOffPolicy, attempt: number): number {
  // Capped before it is multiplied: the growth reaches infinity, and infinity times a first delay of 0 is not a number.
  const growth = Math.min(Number.MAX_VALUE, factor ** Math.max(0, attempt - 1));
  return Math.min(maxMs, firstMs * growth);
}

/**
 * Returns the delay after failure number `attempt` (the first is 1). Half of it is random, so that clients that failed
 * together do not retry together; the other half is fixed, so that none retries at once.
 */
export function backOffMs(policy: BackOffPolicy, attempt: number, randomness: Pick<Randomness, 'fraction'>): number {
  const half = backOffCeilingMs(policy, attempt) / 2;
  return half + half * randomness.fraction();
}

/** Delays that grow with each consecutive failure and start over after `reset`. */
export class BackOff {
  readonly #policy: BackOffPolicy;
  readonly #io: { readonly clock: Clock; readonly randomness: Randomness };
  #failures = 0;

  constructor(policy: BackOffPolicy, io: { readonly clock: Clock; readonly randomness: Randomness }) {
    this.#policy = policy;
    this.#io = io;
  }

  get failures(): number {
    return this.#failures;
  }

  reset(): void {
    this.#failures = 0;
  }

  /** Counts a failure and returns the delay before the next attempt. */
  nextMs(): number {
    this.#failures += 1;
    return backOffMs(this.#policy, this.#failures, this.#io.randomness);
  }

  /** Counts a failure and waits for its delay; rejects with the signal's reason when it aborts. */
  wait(signal?: AbortSignal): Promise<void> {
    return sleep(this.#io.clock, this.nextMs(), signal);
  }
}
