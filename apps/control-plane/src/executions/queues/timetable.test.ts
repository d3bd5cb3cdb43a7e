import { FakeClock } from '@drover/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Timetable } from './timetable.js';

describe('Timetable', () => {
  it('runs actions in the order of their times, none earlier than half a tick, with one timer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 1, maxLength: 60 }), async (delays) => {
        const clock = new FakeClock();
        const timetable = new Timetable(clock, 4);
        const began = clock.monotonicMs();
        const done: { delayMs: number; atMs: number }[] = [];
        for (const delayMs of delays)
          timetable.after(delayMs, () => done.push({ delayMs, atMs: clock.monotonicMs() - began }));
        expect(clock.pending).toBe(1);
        await clock.advance(300);
        expect(done.map(({ delayMs }) => delayMs)).toEqual(delays.toSorted((a, b) => a - b));
        for (const { delayMs, atMs } of done) expect(Math.abs(atMs - delayMs)).toBeLessThanOrEqual(4);
        expect([clock.pending, timetable.size]).toEqual([0, 0]);
      }),
      { numRuns: 50 },
    );
  });

  it('does not run cancelled actions, and removes them', async () => {
    const clock = new FakeClock();
    const timetable = new Timetable(clock, 1);
    const done: number[] = [];
    const cancels = Array.from({ length: 5_000 }, (_, n) => timetable.after(10 + n / 1_000, () => done.push(n)));
    cancels.forEach((cancel, n) => n % 5 !== 0 && cancel());
    cancels[1]?.();
    expect(timetable.size).toBe(1_000);
    await clock.advance(20);
    expect(done).toHaveLength(1_000);
    expect(timetable.size).toBe(0);
  });

  it('runs an action that an action adds before later ones', async () => {
    const clock = new FakeClock();
    const timetable = new Timetable(clock, 1);
    const done: string[] = [];
    timetable.after(100, () => done.push('late'));
    timetable.after(10, () => {
      done.push('first');
      timetable.after(20, () => done.push('second'));
    });
    await clock.advance(50);
    expect(done).toEqual(['first', 'second']);
    timetable.stop();
    expect(clock.pending).toBe(0);
  });
});
