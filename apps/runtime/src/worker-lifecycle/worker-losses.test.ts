import { GrpcStatus } from '@drover/function-rpc';
import { describe, expect, it } from 'vitest';
import { classifyStreamEnd, replacementFor } from './worker-losses.js';

describe('the end of a stream', () => {
  it.each(['halfClosed', 'cancelled', 'reset', 'error', 'local'] as const)(
    '%s is a loss, unless the worker was told to end',
    (kind) => {
      const end = { kind, reason: 'because', grpcStatus: GrpcStatus.CANCELLED };
      expect(classifyStreamEnd(end, false).kind).toBe('lost');
      expect(classifyStreamEnd(end, true)).toEqual({ kind: 'ended' });
    },
  );

  it('makes the replacement urgent when the application has no other worker', () => {
    const lost = { id: 'w1', applicationKey: 't/app:1' };
    expect(replacementFor(lost, 0, 'worker-crash').priority).toBe('urgent');
    expect(replacementFor(lost, 1, 'worker-crash').priority).toBe('normal');
    expect(replacementFor({ id: 'p', applicationKey: undefined }, 0, 'worker-crash').priority).toBe('normal');
  });
});
