import { GrpcStatus } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { invocationFailed, specializationFailed, workerLost } from '../errors.js';
import { settle } from '../triggers/settle.js';
import { answerWithinMs, isSilent } from './heartbeat.js';
import { defaultPressureLimits, nextPressure, type Pressure } from '../workers/memory-pressure.js';
import { judgeStreamEnd, replacementFor } from './worker-losses.js';

describe('the end of a stream', () => {
  it.each(['halfClosed', 'cancelled', 'reset', 'error', 'local'] as const)(
    '%s is a loss, unless the worker was told to end',
    (kind) => {
      const end = { kind, reason: 'because', grpcStatus: GrpcStatus.CANCELLED };
      expect(judgeStreamEnd(end, false).kind).toBe('lost');
      expect(judgeStreamEnd(end, true)).toEqual({ kind: 'ended' });
    },
  );

  it('asks for a replacement at once when the application has nobody left', () => {
    const lost = { id: 'w1', applicationKey: 't/app:1' };
    expect(replacementFor(lost, 0, 'worker-crash').priority).toBe('urgent');
    expect(replacementFor(lost, 1, 'worker-crash').priority).toBe('normal');
    expect(replacementFor({ id: 'p', applicationKey: undefined }, 0, 'worker-crash').priority).toBe('normal');
  });
});

describe('heartbeats', () => {
  it('give a silent worker up three intervals after it was last heard of, whenever it was asked', () => {
    expect(answerWithinMs({ heardMs: 0, nowMs: 15_000 }, 15_000, 3)).toBe(30_000);
    expect(answerWithinMs({ heardMs: 14_000, nowMs: 15_000 }, 15_000, 3)).toBe(44_000);
    expect(answerWithinMs({ heardMs: 0, nowMs: 60_000 }, 15_000, 3)).toBe(15_000);
    expect(isSilent({ heardMs: 0, nowMs: 45_000 }, 15_000, 3)).toBe(true);
    expect(isSilent({ heardMs: 1, nowMs: 45_000 }, 15_000, 3)).toBe(false);
  });
});

describe('memory pressure', () => {
  it('is over only when memory has really recovered', () => {
    const used = [0.5, 0.72, 0.91, 0.88, 0.8, 0.76, 0.74, 0.6];
    const states: Pressure[] = [];
    let state: Pressure = 'normal';
    for (const share of used) states.push((state = nextPressure(state, share, defaultPressureLimits)));
    expect(states).toEqual([
      'normal',
      'elevated',
      'critical',
      'critical',
      'critical',
      'critical',
      'elevated',
      'normal',
    ]);
  });
});

describe('settlement', () => {
  const rules = { deliveryCount: 3, backOffMs: 100, maxBackOffMs: 60_000 };
  const failed = (error: ReturnType<typeof workerLost>) => ({ kind: 'failed' as const, invocationId: 'i', error });

  it('completes what succeeded, puts aside what was rejected or can never run', () => {
    const response = { invocationId: 'i', outputData: [] };
    expect(settle({ kind: 'succeeded', invocationId: 'i', response }, rules)).toEqual({ kind: 'complete' });
    expect(settle({ kind: 'rejected', invocationId: 'i', reason: 'no such order', response }, rules)).toEqual({
      kind: 'deadLetter',
      reason: 'no such order',
    });
    const never = specializationFailed({ workerId: 'w', step: 'load', text: 'no' });
    expect(settle(failed(never), rules).kind).toBe('deadLetter');
  });

  it('returns what failed, later each time, and at once when it was not the function that failed', () => {
    const thrown = failed(invocationFailed({ functionName: 'f', type: 'Error', text: 'no' }));
    expect(settle(thrown, rules)).toEqual({ kind: 'abandon', delayMs: 400 });
    expect(settle(thrown, { ...rules, backOffMs: 0 })).toEqual({ kind: 'abandon' });
    expect(settle(failed(workerLost({ workerId: 'w', reason: 'it crashed' })), rules)).toEqual({ kind: 'abandon' });
  });
});
