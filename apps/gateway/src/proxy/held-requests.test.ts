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

  it('of one key are resumed at once when they are woken, and those of another key wait on', async () => {
    const clock = new FakeClock();
    const served = new Set<string>();
    const held = new HeldRequests({ maxRequests: 3, clock, probe: async (key) => served.has(key) });
    const seen: string[] = [];
    const hold = (key: string) =>
      held.hold({
        key,
        untilMs: 1_000,
        resume: () => seen.push(`${key} resumed`),
        giveUp: () => seen.push(`${key} gave up`),
      });
    hold('orders');
    hold('items');
    hold('items');
    expect([held.count, hold('orders')]).toEqual([3, undefined]); // one bound for all keys
    served.add('items');
    held.wake('items');
    await clock.advance(0);
    expect([seen, held.count]).toEqual([['items resumed', 'items resumed'], 1]);
    held.wake();
    await clock.advance(1_000);
    expect(seen.at(-1)).toBe('orders gave up');
    expect([held.count, clock.pending]).toEqual([0, 0]);
  });
});
