import { describe, expect, it } from 'vitest';
import { DurationCounts } from './duration-counts.js';

function counted(...durationsMs: readonly number[]): DurationCounts {
  const counts = new DurationCounts();
  for (const ms of durationsMs) counts.record(ms);
  return counts;
}

describe('a histogram of durations', () => {
  it('has zeros while nothing was recorded, and after a reset', () => {
    const zeros = { count: 0, minMs: 0, meanMs: 0, p50Ms: 0, p90Ms: 0, p99Ms: 0, maxMs: 0 };
    expect(counted().toJSON()).toEqual(zeros);
    const used = counted(1, 2, 3);
    used.reset();
    expect(used.toJSON()).toEqual(zeros);
  });

  it('has the exact extremes and mean, and percentiles at most a 32nd too high', () => {
    const counts = new DurationCounts();
    for (let ms = 1; ms <= 10_000; ms += 1) counts.record(ms);
    expect(counts).toMatchObject({ count: 10_000, minMs: 1, meanMs: 5_000.5, maxMs: 10_000 });
    for (const percent of [0.01, 1, 50, 90, 99, 99.9, 100]) {
      const exact = percent * 100;
      expect(counts.percentile(percent)).toBeGreaterThanOrEqual(exact);
      expect(counts.percentile(percent)).toBeLessThanOrEqual(exact * (1 + 1 / 32) + 0.001);
    }
  });

  it('takes any duration, from none to days', () => {
    const dayMs = 86_400_000;
    const counts = counted(0, 0.0004, dayMs);
    expect([counts.percentile(0), counts.percentile(100)]).toEqual([expect.closeTo(0, 2), dayMs]);
    expect(counts.maxMs).toBe(dayMs);
    expect(counted(0.25).percentile(50)).toBe(0.25);
  });
});
