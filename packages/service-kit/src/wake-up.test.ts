import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { WakeUp } from './wake-up.js';

const never = new AbortController().signal;

function outcome(wait: Promise<void>): { done: boolean } {
  const state = { done: false };
  void wait.then(() => (state.done = true));
  return state;
}

describe('WakeUp', () => {
  it('wakes a waiting loop and leaves no timer behind', async () => {
    const clock = new FakeClock();
    const wakeUp = new WakeUp();
    const waiting = outcome(wakeUp.wait(clock, 1_000, never));
    await clock.advance(999);
    expect(waiting.done).toBe(false);
    wakeUp.notify();
    await clock.advance(0);
    expect(waiting.done).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('remembers a notification that arrives while the loop is busy, until reset', async () => {
    const clock = new FakeClock();
    const wakeUp = new WakeUp();
    wakeUp.notify();
    await wakeUp.wait(clock, 1_000, never);
    wakeUp.reset();
    const waiting = outcome(wakeUp.wait(clock, 1_000, never));
    await clock.advance(500);
    expect(waiting.done).toBe(false);
    await clock.advance(500);
    expect(waiting.done).toBe(true);
  });

  it('stops waiting when the signal aborts', async () => {
    const ending = new AbortController();
    const waiting = new WakeUp().wait(new FakeClock(), 1_000, ending.signal);
    ending.abort();
    await expect(waiting).resolves.toBeUndefined();
    await expect(new WakeUp().wait(new FakeClock(), 1_000, ending.signal)).resolves.toBeUndefined();
  });
});
