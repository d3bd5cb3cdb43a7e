import { FakeClock, seededRandomness } from '@drover/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BackOff, backOffCeilingMs, backOffMs, type BackOffPolicy } from './back-off.js';

const doubling: BackOffPolicy = { firstMs: 100, maxMs: 30_000, factor: 2 };
const policies = fc.record({
  firstMs: fc.integer({ min: 0, max: 60_000 }),
  maxMs: fc.integer({ min: 0, max: 3_600_000 }),
  factor: fc.double({ min: 1, max: 100, noNaN: true }),
});
const attempts = fc.oneof(fc.nat(50), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
const fractions = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('backOffMs', () => {
  it('lies between half of its ceiling and the ceiling, for any policy and attempt', () => {
    fc.assert(
      fc.property(policies, attempts, fractions, (policy, attempt, fraction) => {
        const waitMs = backOffMs(policy, attempt, { fraction: () => fraction });
        const least = Math.min(policy.firstMs, policy.maxMs) / 2;
        expect(waitMs).toBeGreaterThanOrEqual(least);
        expect(waitMs).toBeLessThanOrEqual(policy.maxMs);
      }),
    );
  });

  it('never shrinks from one attempt to the next with the same jitter', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 2_000 }), fractions, (policy, attempt, fraction) => {
        const same = { fraction: () => fraction };
        expect(backOffMs(policy, attempt + 1, same)).toBeGreaterThanOrEqual(backOffMs(policy, attempt, same));
      }),
    );
  });
});

describe('backOffCeilingMs', () => {
  it('doubles from the first delay to the longest', () => {
    const delays = [0, 1, 2, 3, 9, 10, 1_000_000].map((attempt) => backOffCeilingMs(doubling, attempt));
    expect(delays).toEqual([100, 100, 200, 400, 25_600, 30_000, 30_000]);
  });
});

describe('BackOff', () => {
  it('counts failures in a row and starts over after a success', () => {
    const backOff = new BackOff(doubling, { clock: new FakeClock(), randomness: seededRandomness(1) });
    const waits = Array.from({ length: 8 }, () => backOff.nextMs());
    expect(backOff.failures).toBe(8);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(6_400);
    backOff.reset();
    expect(backOff.failures).toBe(0);
    expect(backOff.nextMs()).toBeLessThanOrEqual(100);
  });

  it('waits on its clock, and gives up with its signal', async () => {
    const clock = new FakeClock();
    const backOff = new BackOff({ firstMs: 10, maxMs: 10, factor: 2 }, { clock, randomness: seededRandomness(1) });
    const waiting = backOff.wait();
    await clock.advance(10);
    await waiting;
    const abort = new AbortController();
    const cut = backOff.wait(abort.signal);
    abort.abort(new Error('stopping'));
    await expect(cut).rejects.toThrow('stopping');
    expect(clock.pending).toBe(0);
  });
});
