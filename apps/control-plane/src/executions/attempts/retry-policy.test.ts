import type { FunctionRetryPolicy } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { isCounted, retryDelayMs, type AttemptFailure, type FailedTries } from './retry-policy.js';

const policy = (over: { maxRetries?: number; handlerErrors?: boolean; backOffFactor?: number } = {}) => ({
  maxRetries: over.maxRetries ?? 3,
  retry: {
    handlerErrors: over.handlerErrors ?? false,
    delayMs: 10,
    backOffFactor: over.backOffFactor ?? 1,
    maxDelayMs: 100,
    windowMs: 1_000,
  },
  spec: { name: 'f' } as { name: string; retry?: FunctionRetryPolicy },
});
const failed = (transient: boolean, retryAfterMs?: number): AttemptFailure => ({
  kind: 'failed',
  code: 'X',
  message: 'x',
  transient,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});
const timeout: AttemptFailure = { kind: 'timeout', code: 'T', message: 't' };
const away: AttemptFailure = { kind: 'failed', code: 'X', message: 'x', transient: true, wasTurnedAway: true };
const absent: AttemptFailure = { kind: 'failed', code: 'X', message: 'x', transient: true, wasNotTried: true };
const most = { fraction: () => 1 };
const tries = (counted: number, uncounted = 0): FailedTries => ({ failed: counted, uncounted, kind: 'async' });

describe('retryDelayMs', () => {
  it('allows maxRetries attempts after the first', () => {
    const delays = [1, 2, 3, 4].map((attempts) => retryDelayMs(policy(), tries(attempts), failed(true), most));
    expect(delays).toEqual([10, 10, 10, undefined]);
    expect(retryDelayMs(policy({ maxRetries: 0 }), tries(1), failed(true), most)).toBeUndefined();
  });

  it('continues as long as nothing was tried at all', () => {
    for (const kind of ['sync', 'async'] as const) {
      expect(retryDelayMs(policy({ maxRetries: 0 }), { failed: 0, uncounted: 1, kind }, absent, most)).toBe(10);
      expect(retryDelayMs(policy({ maxRetries: 0 }), { failed: 50, uncounted: 1, kind }, absent, most)).toBe(10);
    }
  });

  it('continues while the function takes no calls, with growing delays, unless a caller waits', () => {
    const growing = policy({ maxRetries: 0, backOffFactor: 2 });
    expect([1, 2, 3].map((n) => retryDelayMs(growing, tries(0, n), away, most))).toEqual([10, 20, 40]);
    expect(retryDelayMs(growing, { failed: 1, uncounted: 0, kind: 'sync' }, away, most)).toBeUndefined();
    expect([isCounted(away, 'async'), isCounted(away, 'sync')]).toEqual([false, true]);
    expect([isCounted(absent, 'async'), isCounted(absent, 'sync')]).toEqual([false, false]);
    expect([isCounted(timeout, 'async'), isCounted(failed(true), 'async')]).toEqual([true, true]);
  });

  it('retries a synchronous call at once, unless the function sets its delay', () => {
    const slow = { ...policy(), retry: { ...policy().retry, delayMs: 90, backOffFactor: 5 } };
    const own = { ...slow, spec: { name: 'f', retry: { delayMs: 70 } } };
    const sync = { failed: 2, uncounted: 0, kind: 'sync' } as const;
    expect(retryDelayMs(slow, sync, timeout, most)).toBe(10);
    expect(retryDelayMs(own, sync, timeout, most)).toBe(70);
    expect(retryDelayMs(slow, tries(2), timeout, most)).toBe(100);
  });

  it('retries transient failures and timeouts, and errors of the handler only when asked to', () => {
    expect(retryDelayMs(policy(), tries(1), timeout, most)).toBe(10);
    expect(retryDelayMs(policy(), tries(1), failed(false), most)).toBeUndefined();
    expect(retryDelayMs(policy({ handlerErrors: true }), tries(1), failed(false), most)).toBe(10);
  });

  it('grows by the factor up to the limit, with jitter', () => {
    const growing = policy({ maxRetries: 9, backOffFactor: 3 });
    expect([1, 2, 3, 4].map((n) => retryDelayMs(growing, tries(n), timeout, most))).toEqual([10, 30, 90, 100]);
    expect(retryDelayMs(growing, tries(4), timeout, { fraction: () => 0 })).toBe(50);
  });

  it('waits as long as the endpoint asks, up to a limit', () => {
    expect(retryDelayMs(policy(), tries(1), failed(true, 2_000), most)).toBe(2_000);
    expect(retryDelayMs(policy(), tries(1), failed(true, 9_000_000), most)).toBe(60_000);
  });
});
