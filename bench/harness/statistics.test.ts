import { describe, expect, it } from 'vitest';
import { largest, median, medianRatio, percentile } from './statistics.js';

const hundred = Array.from({ length: 100 }, (_, n) => 100 - n);

describe('statistics', () => {
  it('take percentiles by rank, whatever the order of the samples', () => {
    expect(percentile(hundred, 0.5)).toBe(50);
    expect(percentile(hundred, 0.99)).toBe(99);
    expect(percentile(hundred, 1)).toBe(100);
    expect(percentile(hundred, 0)).toBe(1);
    expect(percentile([7], 0.99)).toBe(7);
  });

  it('put the median of an even number between the two in the middle', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('find the largest of more samples than a call takes arguments', () =>
    expect(largest(Array.from({ length: 500_000 }, (_, n) => n))).toBe(499_999));

  it('compare round by round, so that one disturbed round changes nothing', () => {
    expect(medianRatio([80, 8, 80], [10, 1, 10])).toBe(8);
    expect(() => medianRatio([1], [1, 2])).toThrow(/1 rounds/);
  });

  it('refuse to say anything about nothing', () => {
    expect(() => percentile([], 0.5)).toThrow(RangeError);
    expect(() => median([])).toThrow(RangeError);
  });
});
