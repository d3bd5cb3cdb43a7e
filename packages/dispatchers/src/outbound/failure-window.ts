/** When so many of the calls of late have failed that no more should be made. */
export interface FailureShare {
  /** From 0 to 1: as large a part of the calls, or a larger one. */
  readonly atLeast: number;
  /** Fewer calls say nothing. */
  readonly minCalls: number;
  /** How far back calls count. */
  readonly windowMs: number;
}

/** So many pieces the window moves in: a call counts for the whole window, or for up to one piece less. */
const buckets = 10;

/**
 * How many of the calls of the last while have failed. Counts by pieces of time, in a ring: a call costs a few additions, however many
 * there were, and no memory. Knows no clock: time is handed in, and where it stands still or goes back it stands still here.
 */
export class FailureWindow {
  readonly #share: FailureShare;
  readonly #bucketMs: number;
  readonly #calls = new Uint32Array(buckets);
  readonly #failures = new Uint32Array(buckets);
  /** Number of the newest piece of time. */
  #newest = Number.NEGATIVE_INFINITY;
  #at = 0;
  #allCalls = 0;
  #allFailures = 0;

  constructor(share: FailureShare) {
    this.#share = share;
    this.#bucketMs = share.windowMs / buckets;
  }

  /** Whether the calls of the window have mostly failed. */
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
    else for (let steps = newest - this.#newest; steps > 0; steps -= 1) this.#forgetOldest();
    this.#newest = newest;
  }

  /** Its place is that of the next piece of time. */
  #forgetOldest(): void {
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
