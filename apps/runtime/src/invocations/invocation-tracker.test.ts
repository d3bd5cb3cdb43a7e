import { systemRandomness } from '@drover/service-kit';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { workerLost } from '../errors.js';
import { InvocationTracker, type Ending, type TrackedInvocation } from './invocation-tracker.js';

function open(): {
  readonly clock: FakeClock;
  readonly tracker: InvocationTracker;
  readonly endings: [string, Ending][];
  readonly timeouts: string[];
  readonly orphans: string[];
  readonly track: (functionName: string, workerId: string, timeoutMs?: number) => void;
  readonly respond: (workerId: string, functionName: string) => boolean;
} {
  const clock = new FakeClock();
  const endings: [string, Ending][] = [];
  const timeouts: string[] = [];
  const orphans: string[] = [];
  const tracker = new InvocationTracker({
    clock,
    randomness: systemRandomness,
    maxInvocations: 3,
    sweepEveryMs: 60_000,
    orphanAfterMs: 1_000,
    onOrphan: ({ functionName }) => void orphans.push(functionName),
  });
  tracker.onTimeout(({ functionName }) => void timeouts.push(functionName));
  const ids = new Map<string, string>();
  const track = (functionName: string, workerId: string, timeoutMs = 100): void => {
    const startedMs = clock.monotonicMs();
    const invocation: TrackedInvocation = {
      id: tracker.newId(),
      workerId,
      functionName,
      startedMs,
      dueMs: startedMs + timeoutMs,
      end: (ending) => void endings.push([functionName, ending]),
    };
    ids.set(functionName, invocation.id);
    tracker.track(invocation);
  };
  const respond = (workerId: string, functionName: string): boolean =>
    tracker.respond(workerId, { invocationId: ids.get(functionName) ?? functionName, outputData: [] });
  return { clock, tracker, endings, timeouts, orphans, track, respond };
}

describe('the invocation tracker', () => {
  it('ends each invocation exactly once, by whatever comes first', async () => {
    const { clock, tracker, endings, timeouts, track, respond } = open();
    track('answered', 'w1');
    track('late', 'w1', 50);
    track('lost', 'w2');
    expect(tracker.isFull).toBe(true);
    expect(respond('w1', 'answered')).toBe(true);
    expect(respond('w1', 'answered')).toBe(false);
    await clock.advance(60);
    expect(timeouts).toEqual(['late']);
    expect(respond('w1', 'late')).toBe(false);
    expect(tracker.failAllOf('w2', workerLost({ workerId: 'w2', reason: 'it crashed' }))).toBe(1);
    await clock.advance(1_000);
    expect(endings.map(([id]) => id)).toEqual(['answered', 'late', 'lost']);
    expect(tracker.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('takes no answer from a worker that was not asked', () => {
    const { tracker, track, respond } = open();
    track('mine', 'w1');
    expect(respond('w2', 'mine')).toBe(false);
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
    const { tracker, track, respond } = open();
    track('one', 'w1');
    const idle = tracker.whenIdle('w1', new AbortController().signal);
    respond('w1', 'one');
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
    await tracker.stop();
    await clock.advance(2_000);
    expect(endings).toEqual([]);
    expect(tracker.sweep(clock.monotonicMs())).toBe(1);
    expect(orphans).toEqual(['forgotten']);
    expect(endings.map(([id]) => id)).toEqual(['forgotten']);
  });
});
