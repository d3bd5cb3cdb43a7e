import type { Labels, Sample } from '@drover/service-kit';

/** Upper bounds in milliseconds: from a hit on a warm worker to the longest time limit. */
export const bucketsMs: readonly number[] = [
  0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000,
];

/** Counts durations by size. Plain numbers: it is fed several times a call, and read once a scrape. */
export class Histogram {
  /** One more than there are bounds: what is above the last. */
  readonly counts = new Float64Array(bucketsMs.length + 1);
  sumMs = 0;
  count = 0;

  observe(ms: number): void {
    let bucket = 0;
    while (bucket < bucketsMs.length && ms > (bucketsMs[bucket] ?? 0)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sumMs += ms;
    this.count += 1;
  }
}

/** As lines of a metric, in a unit of which `perMs` are a millisecond. */
export function* samplesOf(histogram: Histogram, labels: Labels, perMs: number): Generator<Sample> {
  let below = 0;
  for (const [index, bound] of bucketsMs.entries()) {
    below += histogram.counts[index] ?? 0;
    yield { labels: { ...labels, le: String(bound * perMs) }, value: below, suffix: '_bucket' };
  }
  yield { labels: { ...labels, le: '+Inf' }, value: histogram.count, suffix: '_bucket' };
  yield { labels, value: histogram.sumMs * perMs, suffix: '_sum' };
  yield { labels, value: histogram.count, suffix: '_count' };
}
