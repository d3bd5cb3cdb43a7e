import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { DueQueue } from './due-queue.js';

function queueOn(clock: FakeClock, now = (): number => clock.now()): DueQueue {
  return new DueQueue({ now, clock, longestWaitMs: 15_000 });
}

describe('a queue of due actions', () => {
  it('runs any number of them in the order of their times, with one timer', async () => {
    const clock = new FakeClock();
    const queue = queueOn(clock);
    const random = seededRandomness(7);
    const ran: number[] = [];
    const entries = Array.from({ length: 500 }, () => {
      const atMs = Math.floor(random.fraction() * 10_000);
      return { atMs, due: queue.add(clock.now() + atMs, () => ran.push(atMs)) };
    });
    const cancelled = entries.filter((_, index) => index % 3 === 0);
    for (const { due } of cancelled) due.cancel();
    expect(clock.pending).toBe(1);
    await clock.advance(10_000);
    const kept = entries.filter((entry) => !cancelled.includes(entry)).map(({ atMs }) => atMs);
    expect(ran).toEqual(kept.toSorted((a, b) => a - b));
    expect([queue.size, clock.pending]).toEqual([0, 0]);
  });

  it('notices a wall clock that was set forward within its longest wait', async () => {
    const clock = new FakeClock();
    let offsetMs = 0;
    const queue = queueOn(clock, () => clock.now() + offsetMs);
    let ran = 0;
    queue.add(clock.now() + 3_600_000, () => (ran += 1));
    await clock.advance(60_000);
    expect(ran).toBe(0);
    offsetMs = 3_600_000;
    await clock.advance(15_000);
    expect(ran).toBe(1);
  });

  it('lets an action add others, and runs nothing after close', async () => {
    const clock = new FakeClock();
    const queue = queueOn(clock);
    const ran: string[] = [];
    queue.add(clock.now() + 10, () => {
      ran.push('first');
      queue.add(clock.now(), () => ran.push('at once'));
      queue.add(clock.now() + 10, () => ran.push('later'));
    });
    await clock.advance(15);
    expect(ran).toEqual(['first', 'at once']);
    queue.close();
    await clock.advance(1_000);
    expect([ran.length, clock.pending]).toEqual([2, 0]);
  });
});
