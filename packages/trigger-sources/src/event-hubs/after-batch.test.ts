import { describe, expect, it } from 'vitest';
import { afterBatch } from './after-batch.js';

const failed = { kind: 'abandon', delayMs: 70, byFunction: true } as const;
const rejected = { kind: 'deadLetter', reason: 'no such order', byFunction: true } as const;
const notRun = { kind: 'abandon' } as const;
const broken = { kind: 'deadLetter', reason: 'the function does not load', byFunction: false } as const;

describe('a batch after its run', () => {
  it.each(['advance', 'hold', 'deadletter'] as const)('is finished when the function succeeded: %s', (policy) => {
    expect(afterBatch({ kind: 'complete' }, policy)).toEqual({ kind: 'advance', failure: undefined });
  });

  it('is passed over when the function failed, as in Azure', () => {
    expect(afterBatch(failed, 'advance')).toEqual({ kind: 'advance', failure: 'the function failed' });
    expect(afterBatch(rejected, 'advance')).toEqual({ kind: 'advance', failure: 'no such order' });
  });

  it('is held until it succeeds, if the trigger says so', () => {
    expect(afterBatch(failed, 'hold')).toEqual({ kind: 'redeliver', delayMs: 70 });
    expect(afterBatch(rejected, 'hold')).toEqual({ kind: 'redeliver', delayMs: undefined });
  });

  it('is copied to the dead-letter hub, if the trigger says so', () => {
    expect(afterBatch(rejected, 'deadletter')).toEqual({ kind: 'dead-letter', reason: 'no such order' });
    expect(afterBatch(failed, 'deadletter')).toMatchObject({ kind: 'dead-letter' });
  });

  it.each(['advance', 'hold', 'deadletter'] as const)(
    'is never passed over when the function did not run: %s',
    (policy) => {
      expect(afterBatch(notRun, policy)).toEqual({ kind: 'redeliver', delayMs: undefined });
      expect(afterBatch(broken, policy)).toEqual({ kind: 'redeliver', delayMs: undefined });
    },
  );
});
