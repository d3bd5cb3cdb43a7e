import { defineStates } from '@drover/contracts';
import { backOffMs, type BackOffPolicy, type Randomness } from '@drover/service-kit';
import { FailureWindow, type FailureShare } from './failure-window.js';

/**
 * - closed: calls go through; failures are counted, those in a row and their share of the calls of late
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
  /** So does a failure that makes their share too large, though others succeed in between; absent: only those in a row count. */
  readonly share?: FailureShare | undefined;
  /** How long it stays open, each time longer until a call succeeds. */
  readonly pause: BackOffPolicy;
  /** A probe that has no answer by then keeps nobody else from trying: slow is not broken. */
  readonly probeMs: number;
}

export const defaultBreakerPolicy: BreakerPolicy = {
  failures: 5,
  share: { atLeast: 0.5, minCalls: 20, windowMs: 10_000 },
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
  /** Of calls of this period, while it is closed. */
  readonly #window: FailureWindow | undefined;
  /** The latest time that was told: who succeeds does not tell, and for shares of seconds that is exact enough. */
  #nowMs = 0;
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
    this.#window = policy.share && new FailureWindow(policy.share);
    this.#randomness = randomness;
    this.#state = breakerStates.start('closed', (change) => {
      this.#period += 1;
      this.#failures = 0;
      this.#window?.clear();
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
    this.#nowMs = nowMs;
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
    if (this.#state.current === 'half-open') {
      this.#openings = 0;
      this.#state.move('closed');
      return;
    }
    this.#failures = 0;
    this.#window?.add(this.#nowMs, false);
  }

  /** The other side could not be reached, or did not speak HTTP. */
  failed(period: number, nowMs: number): void {
    if (period !== this.#period || this.#state.current === 'open') return;
    if (this.#state.current === 'closed' && !this.#isTooMuch(nowMs)) return;
    this.#openings += 1;
    this.#openUntilMs = nowMs + backOffMs(this.#policy.pause, this.#openings, this.#randomness);
    this.#state.move('open');
  }

  /** Counts one more failure. */
  #isTooMuch(nowMs: number): boolean {
    this.#nowMs = nowMs;
    this.#failures += 1;
    this.#window?.add(nowMs, true);
    return this.#failures >= this.#policy.failures || this.#window?.isExceeded === true;
  }

  /** The call was given up before anything could be said: the next one is the probe. */
  released(period: number): void {
    if (period === this.#period) this.#probeUntilMs = Number.NEGATIVE_INFINITY;
  }
}
