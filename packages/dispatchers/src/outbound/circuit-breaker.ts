import { defineStates } from '@drover/contracts';
import { backOffMs, type BackOffPolicy, type Randomness } from '@drover/service-kit';
import { FailureWindow, type FailureShare } from './failure-window.js';

/**
 * - closed: calls are admitted; consecutive failures and their share of recent calls are counted. Opens at either limit.
 * - open: calls are refused until the pause is over; the next one then moves it to half-open.
 * - half-open: one call at a time is admitted as a probe. A connection closes the breaker, whatever becomes of the call on it; without
 *   one it opens for longer.
 */
export const breakerStates = defineStates('circuit breaker', {
  closed: ['open'],
  open: ['half-open'],
  'half-open': ['closed', 'open'],
});
export type BreakerState = (typeof breakerStates.all)[number];

export interface BreakerPolicy {
  /** Consecutive failures that open it. */
  readonly failures: number;
  /** Share of failures that opens it although other calls succeed in between. Absent: only consecutive failures count. */
  readonly share?: FailureShare | undefined;
  /** How long it stays open; grows with each opening until a call succeeds. */
  readonly pause: BackOffPolicy;
  /** After this time another probe is admitted beside one without an answer: a slow endpoint is not a broken one. */
  readonly probeMs: number;
}

export const defaultBreakerPolicy: BreakerPolicy = {
  failures: 5,
  share: { atLeast: 0.5, minCalls: 20, windowMs: 10_000 },
  pause: { firstMs: 500, maxMs: 15_000, factor: 2 },
  probeMs: 2_000,
};

/**
 * Refuses calls of an endpoint that cannot be reached, for a pause. Every admitted call must report its end (`succeeded`, `failed`
 * or `released`) with the period it was admitted in: a late report of an earlier period has no effect. Has no clock: the caller
 * passes the time.
 */
export class CircuitBreaker {
  readonly #policy: BreakerPolicy;
  readonly #randomness: Pick<Randomness, 'fraction'>;
  readonly #state;
  #period = 0;
  #failures = 0;
  /** Calls of this period, while it is closed. */
  readonly #window: FailureWindow | undefined;
  /** The latest time that was passed. `succeeded` uses it: exact enough for the window, and saves a clock read per call. */
  #nowMs = 0;
  /** Openings since it was last closed. */
  #openings = 0;
  #openUntilMs = 0;
  /** End of the time in which a half-open breaker waits for its probe. */
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

  /** The period of a call that is admitted now; every state change begins another. */
  get period(): number {
    return this.#period;
  }

  /** Returns 0 when the call is admitted, otherwise the milliseconds to wait. */
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

  /** The endpoint has taken a connection: it can be reached. Whether it answers is another matter, of the call. */
  connected(period: number): void {
    if (period !== this.#period) return;
    this.#failures = 0;
    if (this.#state.current !== 'half-open') return;
    this.#openings = 0;
    this.#state.move('closed');
  }

  /** A call was made that reached the endpoint. */
  succeeded(period: number): void {
    if (period !== this.#period) return;
    if (this.#state.current === 'half-open') return this.connected(period);
    this.#failures = 0;
    this.#window?.add(this.#nowMs, false);
  }

  /** The endpoint could not be reached. */
  failed(period: number, nowMs: number): void {
    if (period !== this.#period || this.#state.current === 'open') return;
    if (this.#state.current === 'closed' && !this.#countFailure(nowMs)) return;
    this.#openings += 1;
    this.#openUntilMs = nowMs + backOffMs(this.#policy.pause, this.#openings, this.#randomness);
    this.#state.move('open');
  }

  /** Counts a failure. Returns true when a limit is reached. */
  #countFailure(nowMs: number): boolean {
    this.#nowMs = nowMs;
    this.#failures += 1;
    this.#window?.add(nowMs, true);
    return this.#failures >= this.#policy.failures || this.#window?.isExceeded === true;
  }

  /** The call was abandoned without evidence about the endpoint: the next call may be the probe. */
  released(period: number): void {
    if (period === this.#period) this.#probeUntilMs = Number.NEGATIVE_INFINITY;
  }
}
