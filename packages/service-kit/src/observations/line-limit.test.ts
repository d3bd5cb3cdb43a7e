import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LineLimit } from './line-limit.js';

describe('LineLimit', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const taken = (limit: LineLimit, times: number): number =>
    Array.from({ length: times }, () => limit.take()).filter(Boolean).length;

  it('lets so many lines pass in each second, and reports once how many it omitted', () => {
    const omitted: number[] = [];
    const limit = new LineLimit(3, (lines) => omitted.push(lines));
    expect(taken(limit, 10)).toBe(3);
    vi.advanceTimersByTime(1_000);
    expect(omitted).toEqual([7]);
    expect(taken(limit, 2)).toBe(2);
    vi.advanceTimersByTime(1_000);
    expect(omitted).toEqual([7]);
  });

  it('lets nothing pass, and reports nothing, with a limit of 0', () => {
    const omitted: number[] = [];
    const limit = new LineLimit(0, (lines) => omitted.push(lines));
    expect(taken(limit, 100)).toBe(0);
    vi.advanceTimersByTime(10_000);
    expect(omitted).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
