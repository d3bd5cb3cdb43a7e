/** The share of failed calls in a sliding window that opens a circuit breaker. */
export interface FailureShare {
  /** From 0 to 1. */
  readonly atLeast: number;
  /** Below this number of calls the share is not evaluated. */
  readonly minCalls: number;
  /** Length of the window. */
  readonly windowMs: number;
}

/** The window moves by a tenth of its length at a time. */
const buckets = 10;

/**
 * Counts calls and failures in a sliding window, in a ring of buckets: a call costs a few additions and no memory, whatever the
 * rate. Has no clock: the caller passes the time, and a time before the newest bucket counts in the newest bucket.
 */
export class FailureWindow {
  readonly #share: FailureShare;
  readonly #bucketMs: number;
  readonly #calls = new Uint32Array(buckets);
  readonly #failures = new Uint32Array(buckets);
  /** Number of the newest bucket. */
  #newest = Number.NEGATIVE_INFINITY;
  #at = 0;
  #allCalls = 0;
  #allFailures = 0;

  constructor(share: FailureShare) {
    this.#share = share;
    this.#bucketMs = share.windowMs / buckets;
  }

  /** True when the share of failures is at or above the limit. */
  get isExceeded(): boolean {
    const { atLeast, minCalls } = this.#share;
    return this.#allCalls >= minCalls && this.#allFailures >= atLeast * this.#allCalls;
  }

  add(nowMs: number, hasFailed: boolean): void {
    this.#moveTo(Math.floor(nowMs / this.#bucketMs));
    increment(this.#calls, this.#at);
    this.#allCalls += 1;
    if (!hasFailed) return;
    increment(this.#failures, this.#at);
    this.#allFailures += 1;
  }

  clear(): void {
    this.#calls.fill(0);
    this.#failures.fill(0);
    this.#allCalls = 0;
    this.#allFailures = 0;
  }

  #moveTo(newest: number): void {
    if (newest <= this.#newest) return;
    if (newest - this.#newest >= buckets) this.clear();
    else for (let steps = newest - this.#newest; steps > 0; steps -= 1) this.#dropOldest();
    this.#newest = newest;
  }

  /** The oldest bucket becomes the next newest. */
  #dropOldest(): void {
    this.#at = (this.#at + 1) % buckets;
    this.#allCalls -= this.#calls[this.#at] ?? 0;
    this.#allFailures -= this.#failures[this.#at] ?? 0;
    this.#calls[this.#at] = 0;
    this.#failures[this.#at] = 0;
  }
}

function increment(counts: Uint32Array, at: number): void {
  counts[at] = (counts[at] ?? 0) + 1;
}
