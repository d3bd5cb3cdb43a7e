import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rejectionReason } from './reject.js';
import { nextRetryDelayMs, retryContext } from './retry-policy.js';

const exception = { message: 'boom', stackTrace: 'at x', source: 's', isUserException: true, type: 'Error' };
const middle = { fraction: () => 0.5 };

describe('nextRetryDelayMs', () => {
  it('waits the same each time for a fixed delay, and ends', () => {
    const policy = { strategy: 'fixedDelay', maxRetries: 2, delayMs: 700 } as const;
    expect([0, 1, 2, 3].map((done) => nextRetryDelayMs(policy, done, middle))).toEqual([
      700,
      700,
      undefined,
      undefined,
    ]);
  });

  it('starts with the shortest wait and doubles what it adds, up to the longest', () => {
    const policy = { strategy: 'exponentialBackoff', maxRetries: -1, minimumMs: 1_000, maximumMs: 10_000 } as const;
    expect([0, 1, 2, 3, 4, 1_000_000].map((done) => nextRetryDelayMs(policy, done, middle))).toEqual([
      1_000, 3_000, 5_000, 9_000, 10_000, 10_000,
    ]);
  });

  it('spreads by a fifth either way and never leaves its bounds', () => {
    fc.assert(
      fc.property(
        fc.nat(100_000),
        fc.nat(10_000_000),
        fc.nat(100),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (minimumMs, more, done, chance) => {
          const policy = {
            strategy: 'exponentialBackoff',
            maxRetries: -1,
            minimumMs,
            maximumMs: minimumMs + more,
          } as const;
          const delay = nextRetryDelayMs(policy, done, { fraction: () => chance }) ?? -1;
          expect(delay).toBeGreaterThanOrEqual(minimumMs);
          expect(delay).toBeLessThanOrEqual(minimumMs + more);
        },
      ),
    );
    const policy = { strategy: 'exponentialBackoff', maxRetries: 5, minimumMs: 100, maximumMs: 1e9 } as const;
    expect(nextRetryDelayMs(policy, 1, { fraction: () => 0 })).toBeCloseTo(260);
    expect(nextRetryDelayMs(policy, 1, { fraction: () => 0.9999999 })).toBeCloseTo(340);
  });
});

describe('retryContext', () => {
  const policy = { strategy: 'fixedDelay', maxRetries: 2, delayMs: 700 } as const;

  it('is there only for functions with a policy, from the first attempt on', () => {
    expect(retryContext(undefined, 1, exception)).toBeUndefined();
    expect(retryContext(policy, 0, undefined)).toEqual({ retryCount: 0, maxRetryCount: 2 });
    expect(retryContext(policy, 1, exception)).toEqual({
      retryCount: 1,
      maxRetryCount: 2,
      exception: { message: 'boom', stackTrace: 'at x', source: 's' },
    });
  });
});

describe('rejectionReason', () => {
  it.each([
    [{ message: 'DROVER_REJECT: no such customer' }, 'no such customer'],
    [{ message: 'DROVER_REJECT:' }, 'rejected by the function'],
    [{ message: 'Error: DROVER_REJECT: bad' }, 'bad'],
    [{ message: 'Exception: Error: DROVER_REJECT: bad' }, 'bad'],
    [{ message: 'RejectMessageError: bad' }, 'bad'],
    [{ message: 'my.module.RejectMessageError: bad' }, 'bad'],
    [{ message: 'bad', type: 'RejectMessageError' }, 'bad'],
    [{ message: 'bad', type: 'My.RejectMessageError' }, 'bad'],
  ])('sees a rejection in %j', (given, reason) => {
    expect(rejectionReason({ ...exception, ...given })).toBe(reason);
  });

  it.each([
    { message: 'boom' },
    { message: 'the upstream said DROVER_REJECT: bad' },
    { message: 'Drover_Reject: bad' },
    { message: 'bad', type: 'NotARejectMessageError' },
    { message: 'RejectMessageErrors: bad' },
    { message: 'x: x: x: DROVER_REJECT: bad' },
  ])('sees none in %j', (given) => {
    expect(rejectionReason({ ...exception, ...given })).toBeUndefined();
  });

  it('sees none where nothing was thrown', () => {
    expect(rejectionReason(undefined)).toBeUndefined();
  });
});
