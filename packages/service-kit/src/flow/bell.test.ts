import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { Bell } from './bell.js';

const never = new AbortController().signal;

function outcome(wait: Promise<void>): { done: boolean } {
  const state = { done: false };
  void wait.then(() => (state.done = true));
  return state;
}

describe('Bell', () => {
  it('wakes the one who waits, and leaves no timer behind', async () => {
    const clock = new FakeClock();
    const bell = new Bell();
    const waiting = outcome(bell.wait(clock, 1_000, never));
    await clock.advance(999);
    expect(waiting.done).toBe(false);
    bell.ring();
    await clock.advance(0);
    expect(waiting.done).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('remembers a ring that came while the loop was busy, until it was answered', async () => {
    const clock = new FakeClock();
    const bell = new Bell();
    bell.ring();
    await bell.wait(clock, 1_000, never);
    bell.answered();
    const waiting = outcome(bell.wait(clock, 1_000, never));
    await clock.advance(500);
    expect(waiting.done).toBe(false);
    await clock.advance(500);
    expect(waiting.done).toBe(true);
  });

  it('stops waiting when the loop is to end', async () => {
    const ending = new AbortController();
    const waiting = new Bell().wait(new FakeClock(), 1_000, ending.signal);
    ending.abort();
    await expect(waiting).resolves.toBeUndefined();
    await expect(new Bell().wait(new FakeClock(), 1_000, ending.signal)).resolves.toBeUndefined();
  });
});
