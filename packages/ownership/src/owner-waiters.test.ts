import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { localOwner, movingOwner } from './owner-directory.js';
import { OwnerWaiters } from './owner-waiters.js';

describe('OwnerWaiters', () => {
  it('resolves every wait for a partition, and no wait for another', async () => {
    const clock = new FakeClock();
    const waiters = new OwnerWaiters(clock);
    const [first, second, other] = [waiters.wait(1, 100), waiters.wait(1, 100), waiters.wait(2, 100)];
    waiters.resolve(1, localOwner);
    expect(await Promise.all([first, second])).toEqual([localOwner, localOwner]);
    await clock.advance(100);
    expect(await other).toBe(movingOwner);
    expect(clock.pending).toBe(0);
  });

  it('refuses a wait beyond the limit at once, until there is room again', async () => {
    const clock = new FakeClock();
    const waiters = new OwnerWaiters(clock, 50);
    const waiting = Array.from({ length: 50 }, () => waiters.wait(3, 60_000));
    expect(await waiters.wait(4, 60_000)).toBe(movingOwner);
    waiters.abort();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([movingOwner]));
    const next = waiters.wait(4, 60_000);
    waiters.resolve(4, localOwner);
    expect(await next).toBe(localOwner);
  });
});
