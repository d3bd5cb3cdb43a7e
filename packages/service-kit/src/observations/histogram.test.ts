import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Histogram } from './histogram.js';

const linesOf = (histogram: Histogram, perMs = 1): Record<string, number> =>
  Object.fromEntries(
    Array.from(histogram.samples('route="/"', perMs), ({ labels, value, suffix = '' }) => [
      `${suffix}${(typeof labels === 'string' ? labels : '').replace(/^route="\/"(?:,le="(.+)")?$/, ' $1')}`.trimEnd(),
      value,
    ]),
  );

describe('Histogram', () => {
  it('counts a value in every bucket whose bound is not below it', () => {
    const histogram = new Histogram([1, 10]);
    for (const ms of [0, 1, 1.5, 10, 11]) histogram.record(ms);
    expect(linesOf(histogram)).toEqual({
      '_bucket 1': 2,
      '_bucket 10': 4,
      '_bucket +Inf': 5,
      _sum: 23.5,
      _count: 5,
    });
  });

  it('converts bounds and sum, not counts', () => {
    const histogram = new Histogram([250]);
    histogram.record(500);
    expect(linesOf(histogram, 0.001)).toEqual({ '_bucket 0.25': 0, '_bucket +Inf': 1, _sum: 0.5, _count: 1 });
  });

  it('is cumulative, and its last bucket equals its count, whatever is recorded', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e7, noNaN: true })), (durations) => {
        const histogram = new Histogram();
        for (const ms of durations) histogram.record(ms);
        const buckets = Array.from(histogram.samples('', 1)).filter(({ suffix }) => suffix === '_bucket');
        const values = buckets.map(({ value }) => value);
        expect(values).toEqual(values.toSorted((a, b) => a - b));
        expect(values.at(-1)).toBe(durations.length);
        expect(histogram.count).toBe(durations.length);
      }),
    );
  });
});
