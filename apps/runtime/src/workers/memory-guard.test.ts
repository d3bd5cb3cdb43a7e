import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { defaultPressureLimits, MemoryGuard } from './memory-pressure.js';

describe('the memory guard', () => {
  it('takes nothing in and ends the oldest workers while memory is short, and goes on when it has recovered', async () => {
    const clock = new FakeClock();
    const done: string[] = [];
    let used = 0.5;
    const guard = new MemoryGuard({
      clock,
      observe: () => undefined,
      everyMs: 10_000,
      limits: defaultPressureLimits,
      used: () => used,
      pauseIntake: () => void done.push('pause'),
      resumeIntake: () => void done.push('resume'),
      drainOldest: (count) => void done.push(`drain ${count}`),
    });
    await guard.start();
    for (used of [0.5, 0.72, 0.95, 0.85, 0.74, 0.6]) await clock.advance(10_000);
    expect(done).toEqual(['pause', 'drain 2', 'drain 2', 'resume']);
    expect(guard.pressure).toBe('normal');
    await guard.stop();
    expect(clock.pending).toBe(0);
  });
});
