import { FakeClock, seededRandomness } from '@drover/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExpectedReturns, pollWaitMs } from './poll-schedule.js';

describe('the wait between two looks', () => {
  const waits = (fraction: number, looks: readonly number[]): number[] =>
    looks.map((n) => Math.round(pollWaitMs(n, 60_000, { fraction: () => fraction })));

  it('begins with 100 ms and doubles what it adds, up to the longest', () => {
    expect(waits(0.5, [1, 2, 3, 4, 5, 10, 11, 12, 9_999])).toEqual([
      100, 200, 300, 500, 900, 25_700, 51_300, 60_000, 60_000,
    ]);
  });

  it('differs by a fifth, so that many pollers do not look together', () => {
    expect(waits(0, [1, 2, 3, 5])).toEqual([100, 180, 260, 740]);
    expect(waits(1, [1, 2, 3, 5])).toEqual([100, 220, 340, 1_060]);
  });

  it('is never longer than the longest, and never nothing', () => {
    const randomness = seededRandomness(7);
    fc.assert(
      fc.property(fc.integer({ min: 1 }), fc.integer({ min: 100, max: 86_400_000 }), (looks, maxMs) => {
        const waitMs = pollWaitMs(looks, maxMs, randomness);
        expect(waitMs).toBeGreaterThanOrEqual(100);
        expect(waitMs).toBeLessThanOrEqual(maxMs);
      }),
    );
  });
});

describe('expected returns', () => {
  it('are told when they are due, those without a delay at once', async () => {
    const clock = new FakeClock();
    let told = 0;
    const returns = new ExpectedReturns(clock, () => (told += 1));
    returns.expect(0);
    expect(told).toBe(1);
    returns.expect(2_000);
    returns.expect(1_000);
    await clock.advance(1_000);
    expect(told).toBe(2);
    await clock.advance(1_000);
    expect(told).toBe(3);
  });

  it('are no more than a thousand or so, and none once they are cleared', () => {
    const clock = new FakeClock();
    const returns = new ExpectedReturns(clock, () => undefined);
    for (let n = 0; n < 5_000; n++) returns.expect(60_000);
    expect(clock.pending).toBe(1_024);
    returns.clear();
    expect(clock.pending).toBe(0);
  });
});
