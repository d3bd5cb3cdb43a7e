import { describe, expect, it } from 'vitest';
import { retryDelayMs, type AttemptFailure } from './retry-policy.js';

const policy = (over: { maxRetries?: number; handlerErrors?: boolean; backOffFactor?: number } = {}) => ({
  maxRetries: over.maxRetries ?? 3,
  retry: {
    handlerErrors: over.handlerErrors ?? false,
    delayMs: 10,
    backOffFactor: over.backOffFactor ?? 1,
    maxDelayMs: 100,
  },
});
const failed = (transient: boolean, retryAfterMs?: number): AttemptFailure => ({
  kind: 'failed',
  code: 'X',
  message: 'x',
  transient,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});
const timeout: AttemptFailure = { kind: 'timeout', code: 'T', message: 't' };
const most = { fraction: () => 1 };

describe('retryDelayMs', () => {
  it('allows maxRetries attempts after the first', () => {
    const delays = [1, 2, 3, 4].map((attempts) => retryDelayMs(policy(), attempts, failed(true), most));
    expect(delays).toEqual([10, 10, 10, undefined]);
    expect(retryDelayMs(policy({ maxRetries: 0 }), 1, failed(true), most)).toBeUndefined();
  });

  it('continues as long as nothing was tried at all', () => {
    const away: AttemptFailure = { kind: 'failed', code: 'X', message: 'x', transient: true, wasNotTried: true };
    expect(retryDelayMs(policy({ maxRetries: 0 }), 0, away, most)).toBe(10);
    expect(retryDelayMs(policy({ maxRetries: 0 }), 50, away, most)).toBe(10);
  });

  it('retries transient failures and timeouts, and errors of the handler only when asked to', () => {
    expect(retryDelayMs(policy(), 1, timeout, most)).toBe(10);
    expect(retryDelayMs(policy(), 1, failed(false), most)).toBeUndefined();
    expect(retryDelayMs(policy({ handlerErrors: true }), 1, failed(false), most)).toBe(10);
  });

  it('grows by the factor up to the limit, with jitter', () => {
    const growing = policy({ maxRetries: 9, backOffFactor: 3 });
    expect([1, 2, 3, 4].map((n) => retryDelayMs(growing, n, timeout, most))).toEqual([10, 30, 90, 100]);
    expect(retryDelayMs(growing, 4, timeout, { fraction: () => 0 })).toBe(50);
  });

  it('waits as long as the endpoint asks, up to a limit', () => {
    expect(retryDelayMs(policy(), 1, failed(true, 2_000), most)).toBe(2_000);
    expect(retryDelayMs(policy(), 1, failed(true, 9_000_000), most)).toBe(60_000);
  });
});
