import { describe, expect, it } from 'vitest';
import { afterBusRun } from './settlement.js';

const first = { autoComplete: true, isDeadLetterQueue: false, deliveryCount: 1, messages: 1 };

describe('after the run of a Service Bus message', () => {
  it('a success completes it, unless the function settles its messages itself', () => {
    expect(afterBusRun({ kind: 'complete' }, first)).toEqual({ kind: 'complete' });
    expect(afterBusRun({ kind: 'complete' }, { ...first, autoComplete: false })).toEqual({ kind: 'leave' });
  });

  it('a failure abandons it at once, or after the delay that was asked for', () => {
    expect(afterBusRun({ kind: 'abandon', byFunction: true }, first)).toEqual({ kind: 'abandon', afterMs: 0 });
    expect(afterBusRun({ kind: 'abandon', delayMs: 500, byFunction: true }, first)).toEqual({
      kind: 'abandon',
      afterMs: 500,
    });
    expect(afterBusRun({ kind: 'abandon', delayMs: 1e12, byFunction: true }, first)).toEqual({
      kind: 'abandon',
      afterMs: 3_600_000,
    });
    expect(afterBusRun({ kind: 'abandon', byFunction: true }, { ...first, autoComplete: false })).toEqual({
      kind: 'abandon',
      afterMs: 0,
    });
  });

  it('a rejection dead-letters it with its reason', () => {
    expect(afterBusRun({ kind: 'deadLetter', reason: 'no such order', byFunction: true }, first)).toEqual({
      kind: 'deadLetter',
      reason: 'no such order',
    });
  });

  it('a batch is not dead-lettered for one of its messages: it returns, to be delivered in smaller ones', () => {
    const batch = { ...first, messages: 5 };
    expect(afterBusRun({ kind: 'deadLetter', reason: 'x', byFunction: false }, batch)).toEqual({
      kind: 'abandon',
      afterMs: 0,
    });
  });

  it('a dead letter that fails returns ever later: nothing else would slow it down', () => {
    const letter = { ...first, isDeadLetterQueue: true };
    expect(afterBusRun({ kind: 'abandon', byFunction: true }, letter)).toEqual({ kind: 'abandon', afterMs: 1_000 });
    expect(afterBusRun({ kind: 'deadLetter', reason: 'x', byFunction: true }, { ...letter, deliveryCount: 4 })).toEqual(
      {
        kind: 'abandon',
        afterMs: 8_000,
      },
    );
    expect(afterBusRun({ kind: 'abandon', byFunction: true }, { ...letter, deliveryCount: 90 })).toEqual({
      kind: 'abandon',
      afterMs: 60_000,
    });
  });
});
