import type { Clock } from './clock.js';
import { sleep } from './clock.js';
import type { Randomness } from './randomness.js';

export interface BackOffPolicy {
  readonly firstMs: number;
  readonly maxMs: number;
  /** How much longer each wait may get; 2 doubles it. */
  readonly factor: number;
}

export const defaultBackOff: BackOffPolicy = { firstMs: 100, maxMs: 30_000, factor: 2 };

/**
 * How long to wait before try number `attempt` + 1 (the first failure is attempt 1). Half of the wait is fixed and half
 * is chance, so that many who failed together do not come back together, and nobody comes back at once.
 */
export function backOffMs(policy: BackOffPolicy, attempt: number, randomness: Pick<Randomness, 'fraction'>): number {
  // The growth is capped before it is multiplied: it reaches infinity, and infinity times a first wait of 0 is no number.
  const growth = Math.min(Number.MAX_VALUE, policy.factor ** Math.max(0, attempt - 1));
  const ceiling = Math.min(policy.maxMs, policy.firstMs * growth);
  return ceiling / 2 + (ceiling / 2) * randomness.fraction();
}

/** Waits that grow with each failure in a row, and start over after a success. */
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

  /** Counts one more failure and says how long to wait for it. */
  nextMs(): number {
    this.#failures += 1;
    return backOffMs(this.#policy, this.#failures, this.#io.randomness);
  }

  /** Counts one more failure and waits for it. */
  wait(signal?: AbortSignal): Promise<void> {
    return sleep(this.#io.clock, this.nextMs(), signal);
  }
}
