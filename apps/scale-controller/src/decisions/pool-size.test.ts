import { describe, expect, it } from 'vitest';
import { monday } from './decisions.test.fixture.js';
import type { PoolInput, PoolOutcome, PoolState } from './fleet-types.js';
import { defaultPoolPolicy, sizePool } from './pool-size.js';

const second = 1_000;

/** A pool that is sized each second. */
class SimulatedPool {
  #state: PoolState | undefined;
  #nowMs = monday;
  last: PoolOutcome | undefined;

  step(input: Partial<PoolInput> = {}, elapsedMs = second): number {
    this.#nowMs += elapsedMs;
    const calm = { nowMs: this.#nowMs, taken: 0, missed: 0, peakTaken: 0, replenishMs: 500, headroom: 100 };
    this.last = sizePool(this.#state, { ...calm, ...input }, defaultPoolPolicy);
    this.#state = this.last.state;
    return this.last.target;
  }
}

describe('the size of the placeholder pool', () => {
  it('is the minimum without demand', () => {
    const pool = new SimulatedPool();
    expect(pool.step()).toBe(1);
    expect(pool.last?.cause).toBe('minimum');
  });

  it('suffices for what is taken within one replenish time in 99 of 100 cases', () => {
    const pool = new SimulatedPool();
    // Two per second, replaced in half a second: one is expected, and 4 suffice with 99.6 %.
    for (let passed = 0; passed < 3_600; passed += 1) pool.step({ taken: 2, peakTaken: 1 });
    expect(pool.last?.target).toBe(4);
    expect(pool.last?.cause).toBe('demand');
  });

  it('remembers a burst that was larger than the mean explains, for half an hour', () => {
    const pool = new SimulatedPool();
    pool.step({ taken: 6, peakTaken: 6 });
    for (let passed = 0; passed < 29; passed += 1) expect(pool.step({}, 60_000)).toBe(6);
    pool.step({}, 60_000);
    expect(pool.step({}, 60_000)).toBe(1);
  });

  it('grows at once by each cold start, and shrinks slowly', () => {
    const pool = new SimulatedPool();
    expect(pool.step({ missed: 3 })).toBe(4);
    expect(pool.last?.cause).toBe('misses');
    expect(pool.step({}, 5 * 60_000)).toBe(3);
    expect(pool.step({}, 60 * 60_000)).toBe(1);
  });

  it('stays under its maximum', () => {
    const pool = new SimulatedPool();
    expect(pool.step({ missed: 500, taken: 500, peakTaken: 500 })).toBe(10);
    expect(pool.last?.cause).toBe('maximum');
  });

  it('is the first to be given up when applications need the workers', () => {
    const pool = new SimulatedPool();
    pool.step({ taken: 6, peakTaken: 6 });
    expect(pool.step({ headroom: 2 })).toBe(2);
    expect(pool.last?.cause).toBe('headroom');
    expect(pool.step({ headroom: 0 })).toBe(0);
    expect(pool.step()).toBe(6);
  });

  it('is sized for very high rates too', () => {
    const state: PoolState = { target: 0, decidedAtMs: monday, peaks: [], peaksAtMs: monday, rate: 1_000, missed: 0 };
    const input = { nowMs: monday, taken: 0, missed: 0, peakTaken: 0, replenishMs: 1_000, headroom: 9_999 };
    const { target } = sizePool(state, input, { ...defaultPoolPolicy, maxPlaceholders: 5_000 });
    expect(target).toBeGreaterThan(1_060);
    expect(target).toBeLessThan(1_090);
  });
});
