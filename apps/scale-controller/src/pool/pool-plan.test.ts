import { describe, expect, it } from 'vitest';
import { oldestPlaceholderMs, placeholderTtlMs, planPool } from './pool-plan.js';

const minute = 60_000;
const placeholder = (workerId: string, ageMs: number, isIdle = true) => ({
  workerId,
  isIdle,
  startedAtMs: -ageMs,
  ttlMs: 20 * minute,
});
const bounds = { min: 1, target: 3, max: 5 };

describe('the plan of a pool', () => {
  it('replenishes to the target, counting what is starting', () => {
    expect(planPool([], bounds, 0)).toEqual({ start: 3, retire: [] });
    expect(planPool([placeholder('a', 0), placeholder('b', 0, false)], bounds, 0)).toEqual({ start: 1, retire: [] });
  });

  it('never goes below the minimum or above the maximum', () => {
    expect(planPool([], { ...bounds, target: 0 }, 0).start).toBe(1);
    expect(planPool([], { ...bounds, target: 50 }, 0).start).toBe(5);
    expect(planPool([], { min: 3, target: 3, max: 1 }, 0).start).toBe(1);
  });

  it('ends the oldest idle ones when the target falls, never one that is starting', () => {
    const pool = [placeholder('young', minute), placeholder('old', 2 * minute), placeholder('starting', 0, false)];
    expect(planPool(pool, { min: 1, target: 1, max: 5 }, 0)).toEqual({ start: 0, retire: ['old', 'young'] });
    expect(planPool(pool.slice(0, 2), { min: 1, target: 1, max: 5 }, 0)).toEqual({ start: 0, retire: ['old'] });
  });

  it('starts replacements of expired ones first, and ends those when the replacements are idle', () => {
    const expired = [placeholder('a', 21 * minute), placeholder('b', 21 * minute), placeholder('c', 21 * minute)];
    expect(planPool(expired, bounds, 0)).toEqual({ start: 2, retire: [] });
    const starting = [...expired, placeholder('d', 0, false), placeholder('e', 0, false), placeholder('f', 0, false)];
    expect(planPool(starting, { ...bounds, max: 6 }, 0)).toEqual({ start: 0, retire: [] });
    const replaced = [...expired, placeholder('d', 0), placeholder('e', 0), placeholder('f', 0)];
    expect(planPool(replaced, { ...bounds, max: 6 }, 0).retire).toEqual(['a', 'b', 'c']);
  });

  it('makes room for a replacement when the pool is full', () => {
    const pool = [placeholder('a', 21 * minute), placeholder('b', 22 * minute)];
    expect(planPool(pool, { min: 2, target: 2, max: 2 }, 0)).toEqual({ start: 1, retire: ['b'] });
  });

  it('keeps none beyond 30 minutes, replaced or not', () => {
    expect(planPool([placeholder('a', oldestPlaceholderMs)], { min: 0, target: 0, max: 5 }, 0).retire).toEqual(['a']);
    expect(planPool([placeholder('a', oldestPlaceholderMs)], bounds, 0)).toEqual({ start: 3, retire: ['a'] });
  });

  it.each([0, 0.5, 0.999])('spreads the age of replacement between 15 and 30 minutes (%d)', (fraction) => {
    expect(placeholderTtlMs(fraction)).toBeGreaterThanOrEqual(15 * minute);
    expect(placeholderTtlMs(fraction)).toBeLessThan(30 * minute);
  });
});
