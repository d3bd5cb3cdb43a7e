import type { Sample } from './computed-metrics.js';

/** Upper bounds in milliseconds, from a call that a warm worker answers to the longest time limit of a function. */
const latencyBoundsMs: readonly number[] = [
  0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000,
];

/**
 * Counts durations by size for a `ComputedMetric`. It holds plain numbers because hot paths record several durations per call,
 * while a scrape reads them once in many seconds.
 */
export class Histogram {
  readonly #boundsMs: readonly number[];
  /** One more than there are bounds: the last counts what exceeds all of them. */
  readonly #counts: Float64Array;
  #sumMs = 0;
  #count = 0;

  constructor(boundsMs: readonly number[] = latencyBoundsMs) {
    this.#boundsMs = boundsMs;
    this.#counts = new Float64Array(boundsMs.length + 1);
  }

  get count(): number {
    return this.#count;
  }

  record(ms: number): void {
    const bounds = this.#boundsMs;
    let bucket = 0;
    while (bucket < bounds.length && ms > (bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sumMs += ms;
    this.#count += 1;
  }

  /** Returns the lines of a histogram without bounds: count and sum. */
  *totals(labels: string, perMs: number): Generator<Sample> {
    yield { labels: labels === '' ? 'le="+Inf"' : `${labels},le="+Inf"`, value: this.#count, suffix: '_bucket' };
    yield { labels, value: this.#sumMs * perMs, suffix: '_sum' };
    yield { labels, value: this.#count, suffix: '_count' };
  }

  /**
   * Returns the lines of a Prometheus histogram. `labels` are rendered, see `renderLabels`. `perMs` converts the unit: 0.001 for a
   * metric in seconds.
   */
  *samples(labels: string, perMs: number): Generator<Sample> {
    const begin = labels === '' ? 'le="' : `${labels},le="`;
    let cumulative = 0;
    for (const [index, bound] of this.#boundsMs.entries()) {
      cumulative += this.#counts[index] ?? 0;
      yield { labels: `${begin}${bound * perMs}"`, value: cumulative, suffix: '_bucket' };
    }
    yield* this.totals(labels, perMs);
  }
}
