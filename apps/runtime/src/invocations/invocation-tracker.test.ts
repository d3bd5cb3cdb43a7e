import { FakeClock } from '@drover/testkit';
import type { InvocationResponse } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { InvocationTracker, type Ending, type TrackedInvocation } from './invocation-tracker.js';

function open(): {
  readonly clock: FakeClock;
  readonly tracker: InvocationTracker;
  readonly endings: [string, Ending][];
  readonly timeouts: string[];
  readonly orphans: string[];
  readonly track: (id: string, workerId: string, timeoutMs?: number) => void;
} {
  const clock = new FakeClock();
  const endings: [string, Ending][] = [];
  const timeouts: string[] = [];
  const orphans: string[] = [];
  const tracker = new InvocationTracker({
    clock,
    maxInvocations: 3,
    onTimeout: ({ id }) => void timeouts.push(id),
    orphanAfterMs: 1_000,
    onOrphan: ({ id }) => void orphans.push(id),
  });
  const track = (id: string, workerId: string, timeoutMs = 100): void => {
    const startedMs = clock.monotonicMs();
    const invocation: TrackedInvocation = {
      id,
      workerId,
      functionName: 'f',
      startedMs,
      dueMs: startedMs + timeoutMs,
      end: (ending) => void endings.push([id, ending]),
    };
    tracker.track(invocation);
  };
  return { clock, tracker, endings, timeouts, orphans, track };
}

const response = (invocationId: string): InvocationResponse => ({ invocationId, outputData: [] });

describe('the invocation tracker', () => {
  it('ends each invocation exactly once, by whatever comes first', async () => {
    const { clock, tracker, endings, timeouts, track } = open();
    track('answered', 'w1');
    track('late', 'w1', 50);
    track('lost', 'w2');
    expect(tracker.isFull).toBe(true);
    expect(tracker.respond('w1', response('answered'))).toBe(true);
    expect(tracker.respond('w1', response('answered'))).toBe(false);
    await clock.advance(60);
    expect(timeouts).toEqual(['late']);
    expect(tracker.respond('w1', response('late'))).toBe(false);
    expect(tracker.failAllOf('w2', 'it crashed')).toBe(1);
    await clock.advance(1_000);
    expect(endings.map(([id]) => id)).toEqual(['answered', 'late', 'lost']);
    expect(tracker.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('takes no answer from a worker that was not asked', () => {
    const { tracker, track } = open();
    track('mine', 'w1');
    expect(tracker.respond('w2', response('mine'))).toBe(false);
    expect(tracker.size).toBe(1);
  });

  it('times out in the order of the limits, not of the starts', async () => {
    const { clock, timeouts, track } = open();
    track('slow', 'w1', 300);
    track('quick', 'w1', 10);
    await clock.advance(20);
    expect(timeouts).toEqual(['quick']);
    await clock.advance(300);
    expect(timeouts).toEqual(['quick', 'slow']);
  });

  it('tells when a worker has nothing left to do, or that it was not in time', async () => {
    const { tracker, track } = open();
    track('one', 'w1');
    const idle = tracker.whenIdle('w1', new AbortController().signal);
    tracker.respond('w1', response('one'));
    expect(await idle).toBe(true);
    track('two', 'w1');
    const impatient = new AbortController();
    const late = tracker.whenIdle('w1', impatient.signal);
    impatient.abort();
    expect(await late).toBe(false);
  });

  it('ends what its timer forgot', async () => {
    const { clock, tracker, endings, orphans, track } = open();
    track('forgotten', 'w1', 10);
    tracker.stop();
    await clock.advance(2_000);
    expect(endings).toEqual([]);
    expect(tracker.sweep(clock.monotonicMs())).toBe(1);
    expect(orphans).toEqual(['forgotten']);
    expect(endings.map(([id]) => id)).toEqual(['forgotten']);
  });
});
