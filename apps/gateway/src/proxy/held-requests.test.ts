import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { HeldRequests } from './held-requests.js';

function open(maxRequests = 10) {
  const clock = new FakeClock();
  const runtime = { isThere: false, probes: 0 };
  const held = new HeldRequests({
    maxRequests,
    clock,
    probe: async () => {
      runtime.probes += 1;
      return runtime.isThere;
    },
  });
  const seen: string[] = [];
  const hold = (name: string, forMs = 1_000) =>
    held.hold({
      key: '',
      untilMs: clock.monotonicMs() + forMs,
      resume: () => seen.push(`${name} resumed at ${clock.monotonicMs()}`),
      giveUp: () => seen.push(`${name} gave up at ${clock.monotonicMs()}`),
    });
  return { clock, runtime, held, hold, seen };
}

describe('held requests', () => {
  it('are resumed in their order as soon as a runtime is found', async () => {
    const { clock, runtime, hold, seen } = open();
    hold('first');
    await clock.advance(100);
    hold('second');
    runtime.isThere = true;
    await clock.advance(25);
    expect(seen).toEqual(['first resumed at 125', 'second resumed at 125']);
  });

  it('give up when their own time is over, each by itself', async () => {
    const { clock, hold, seen } = open();
    hold('first', 300);
    await clock.advance(100);
    hold('second', 300);
    await clock.advance(1_000);
    expect(seen).toEqual(['first gave up at 300', 'second gave up at 400']);
  });

  it('are bounded: one more is not held, and one that left makes room', async () => {
    const { hold } = open(2);
    const leave = hold('first');
    hold('second');
    expect(hold('third')).toBeUndefined();
    leave?.();
    expect(hold('third')).toBeTypeOf('function');
  });

  it('do not include one whose time is over already', () => {
    const { hold } = open();
    expect(hold('late', 0)).toBeUndefined();
  });

  it('are not answered any more after they left', async () => {
    const { clock, runtime, hold, seen } = open();
    hold('first')?.();
    runtime.isThere = true;
    await clock.advance(5_000);
    expect(seen).toEqual([]);
  });

  it('cost nothing while there are none: no timer, no probe', async () => {
    const { clock, runtime, hold } = open();
    await clock.advance(1_000);
    expect([runtime.probes, clock.pending]).toEqual([0, 0]);
    hold('first', 60);
    await clock.advance(1_000);
    expect([runtime.probes, clock.pending]).toEqual([2, 0]);
  });

  it('give up at once when they are closed, and none is held after that', async () => {
    const { clock, held, hold, seen } = open();
    hold('first');
    held.close();
    expect(seen).toEqual(['first gave up at 0']);
    expect(hold('second')).toBeUndefined();
    expect(clock.pending).toBe(0);
  });
});
