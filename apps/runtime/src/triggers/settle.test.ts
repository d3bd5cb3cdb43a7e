import { describe, expect, it } from 'vitest';
import { invocationFailed, specializationFailed, workerLost } from '../errors.js';
import { settle } from './settle.js';

describe('settlement', () => {
  const rules = { deliveryCount: 3, backOffMs: 100, maxBackOffMs: 60_000 };
  const failed = (error: ReturnType<typeof workerLost>) => ({ kind: 'failed' as const, invocationId: 'i', error });

  it('completes a success and dead-letters a rejection or a permanent failure', () => {
    const response = { invocationId: 'i', outputData: [] };
    expect(settle({ kind: 'succeeded', invocationId: 'i', response }, rules)).toEqual({ kind: 'complete' });
    expect(settle({ kind: 'rejected', invocationId: 'i', reason: 'no such order', response }, rules)).toEqual({
      kind: 'deadLetter',
      reason: 'no such order',
      byFunction: true,
    });
    const never = specializationFailed({ workerId: 'w', step: 'load', text: 'no' });
    expect(settle(failed(never), rules)).toMatchObject({ kind: 'deadLetter', byFunction: false });
  });

  it('abandons a failure with a growing delay, and without one when the platform is at fault', () => {
    const thrown = failed(invocationFailed({ functionName: 'f', type: 'Error', text: 'no' }));
    const reason = expect.stringContaining('Error: no') as string;
    expect(settle(thrown, rules)).toEqual({ kind: 'abandon', delayMs: 400, byFunction: true, reason });
    expect(settle(thrown, { ...rules, backOffMs: 0 })).toEqual({ kind: 'abandon', byFunction: true, reason });
    expect(settle(failed(workerLost({ workerId: 'w', reason: 'it crashed' })), rules)).toEqual({
      kind: 'abandon',
      byFunction: false,
      reason: expect.stringContaining('it crashed') as string,
    });
  });
});
