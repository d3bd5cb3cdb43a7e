import type { RestartConfig } from '../types/config.js';

export type RestartDecision =
  | { readonly restart: true; readonly delayMs: number }
  | { readonly restart: false; readonly restarts: number; readonly periodMs: number };

/**
 * Decides how often and how fast to restart a worker that keeps dying: at most `max` restarts within `periodMs`, the first at
 * once, later ones after exponential back-off of which half is random. The package has no dependencies, so the formula is its
 * own.
 *
 * Restarts for the retry of a request are delayed and not counted, because the attempts of the request limit them. A `max`
 * that the user has set counts all.
 */
export class RestartPolicy {
  readonly #max: number;
  readonly #periodMs: number;
  readonly #delayMs: number;
  readonly #maxDelayMs: number;
  readonly #countsRetries: boolean;
  #restarts: { readonly atMs: number; readonly counts: boolean }[] = [];

  constructor({ max, periodMs = 30_000, delayMs = 50, maxDelayMs = 5_000 }: RestartConfig = {}) {
    this.#max = max ?? 5;
    this.#countsRetries = max !== undefined;
    this.#periodMs = periodMs;
    this.#delayMs = delayMs;
    this.#maxDelayMs = maxDelayMs;
  }

  get periodMs(): number {
    return this.#periodMs;
  }

  /** Decides about a worker that died at `nowMs`. `fraction` is random, from 0 to 1. */
  next(nowMs: number, fraction: number, isForRetry = false): RestartDecision {
    this.#restarts = this.#restarts.filter(({ atMs }) => nowMs - atMs < this.#periodMs);
    const before = this.#restarts.length;
    const counts = !isForRetry || this.#countsRetries;
    const counted = this.#restarts.filter((restart) => restart.counts).length;
    if (counts && counted >= this.#max) return { restart: false, restarts: counted, periodMs: this.#periodMs };
    this.#restarts.push({ atMs: nowMs, counts });
    const ceiling = before === 0 ? 0 : Math.min(this.#maxDelayMs, this.#delayMs * 2 ** (before - 1));
    return { restart: true, delayMs: ceiling / 2 + (ceiling / 2) * fraction };
  }
}
