import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { here, moving } from './owner-directory.js';
import { OwnerWaiters } from './owner-waiters.js';

describe('OwnerWaiters', () => {
  it('answers all who wait for a partition, and nobody else', async () => {
    const clock = new FakeClock();
    const waits = new OwnerWaiters(clock);
    const [first, second, other] = [waits.wait(1, 100), waits.wait(1, 100), waits.wait(2, 100)];
    waits.settle(1, here);
    expect(await Promise.all([first, second])).toEqual([here, here]);
    await clock.advance(100);
    expect(await other).toBe(moving);
    expect(clock.pending).toBe(0);
  });

  it('turns away at once who would be one too many, until there is room again', async () => {
    const clock = new FakeClock();
    const waits = new OwnerWaiters(clock, 50);
    const waiting = Array.from({ length: 50 }, () => waits.wait(3, 60_000));
    expect(await waits.wait(4, 60_000)).toBe(moving);
    waits.giveUp();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([moving]));
    const next = waits.wait(4, 60_000);
    waits.settle(4, here);
    expect(await next).toBe(here);
  });
});
