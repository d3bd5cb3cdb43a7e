import { defineStates } from '@drover/contracts';
import { backOffMs, type BackOffPolicy, type Randomness } from '@drover/service-kit';

/**
 * - closed: calls go through; failures in a row are counted
 * - open: nobody calls until the pause is over
 * - half-open: one call at a time finds out whether the other side is back
 */
export const breakerStates = defineStates('circuit breaker', {
  closed: ['open'],
  open: ['half-open'],
  'half-open': ['closed', 'open'],
});
export type BreakerState = (typeof breakerStates.all)[number];

export interface BreakerPolicy {
  /** So many failures in a row open it. */
  readonly failures: number;
  /** How long it stays open, each time longer until a call succeeds. */
  readonly pause: BackOffPolicy;
  /** A probe that has no answer by then keeps nobody else from trying: slow is not broken. */
  readonly probeMs: number;
}

export const defaultBreakerPolicy: BreakerPolicy = {
  failures: 5,
  pause: { firstMs: 500, maxMs: 15_000, factor: 2 },
  probeMs: 2_000,
};

/**
 * Keeps calls away from an endpoint that cannot be reached. Knows no clock: time is handed in. Whoever was admitted says with the
 * period it was admitted in how it ended; failures of an earlier period are old news and change nothing.
 */
export class CircuitBreaker {
  readonly #policy: BreakerPolicy;
  readonly #randomness: Pick<Randomness, 'fraction'>;
  readonly #state;
  #period = 0;
  #failures = 0;
  /** Since it was last closed. */
  #openings = 0;
  #openUntilMs = 0;
  /** Until then the probe of a half-open one has the word. */
  #probeUntilMs = Number.NEGATIVE_INFINITY;

  constructor(
    policy: BreakerPolicy,
    randomness: Pick<Randomness, 'fraction'>,
    onMove?: (change: { from: BreakerState; to: BreakerState }) => void,
  ) {
    this.#policy = policy;
    this.#randomness = randomness;
    this.#state = breakerStates.start('closed', (change) => {
      this.#period += 1;
      onMove?.(change);
    });
  }

  get state(): BreakerState {
    return this.#state.current;
  }

  /** The one that a call admitted now belongs to. */
  get period(): number {
    return this.#period;
  }

  /** 0: go ahead, and say how it ended. Else: stay away for so many milliseconds. */
  admit(nowMs: number): number {
    if (this.#state.current === 'closed') return 0;
    if (this.#state.current === 'open') {
      if (nowMs < this.#openUntilMs) return Math.max(1, Math.ceil(this.#openUntilMs - nowMs));
      this.#state.move('half-open');
      this.#probeUntilMs = Number.NEGATIVE_INFINITY;
    }
    if (nowMs < this.#probeUntilMs) return Math.max(1, Math.ceil(this.#probeUntilMs - nowMs));
    this.#probeUntilMs = nowMs + this.#policy.probeMs;
    return 0;
  }

  /** The other side answered. */
  succeeded(period: number): void {
    if (period !== this.#period) return;
    this.#failures = 0;
    if (this.#state.current !== 'half-open') return;
    this.#openings = 0;
    this.#state.move('closed');
  }

  /** The other side could not be reached, or did not speak HTTP. */
  failed(period: number, nowMs: number): void {
    if (period !== this.#period || this.#state.current === 'open') return;
    this.#failures += 1;
    if (this.#state.current === 'closed' && this.#failures < this.#policy.failures) return;
    this.#openings += 1;
    this.#failures = 0;
    this.#openUntilMs = nowMs + backOffMs(this.#policy.pause, this.#openings, this.#randomness);
    this.#state.move('open');
  }

  /** The call was given up before anything could be said: the next one is the probe. */
  released(period: number): void {
    if (period === this.#period) this.#probeUntilMs = Number.NEGATIVE_INFINITY;
  }
}
