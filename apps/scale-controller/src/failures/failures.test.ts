import { describe, expect, it } from 'vitest';
import { failureRow, lossCause } from './decision-matrix.js';
import { StartDelays } from './start-delays.js';

describe('the decision matrix', () => {
  it.each([
    ['timeout', 2, 'low', 'disconnect', 'later'],
    ['timeout', 0, 'high', 'disconnect', 'urgent'],
    ['hung', 1, 'medium', 'disconnect', 'normal'],
    ['hung', 0, 'high', 'disconnect', 'urgent'],
    ['crash', 3, 'medium', 'disconnect', 'normal'],
    ['crash', 0, 'high', 'disconnect', 'urgent'],
    ['scale-down', 0, 'low', 'drain', 'none'],
    ['scale-down', 4, 'low', 'drain', 'none'],
  ] as const)(
    '%s with %i other workers: urgency %s, %s, replacement %s',
    (cause, others, urgency, action, replacement) => {
      expect(failureRow(cause, others)).toMatchObject({ urgency, action, replacement });
    },
  );

  it.each([
    ['invocation-timeout', 'timeout'],
    ['worker-hung', 'hung'],
    ['worker-crash', 'crash'],
    ['specialization-failed', 'crash'],
  ])('the reason %s of a runtime is a %s', (reason, cause) => {
    expect(lossCause(reason)).toBe(cause);
  });
});

describe('the delays of starts', () => {
  it('do not delay after the first failure, then grow up to five seconds, and end after a minute', () => {
    const delays = new StartDelays();
    const waits = Array.from({ length: 9 }, () => {
      delays.record('app', 1_000);
      return Math.max(0, delays.nextStartMs('app', 1_000) - 1_000);
    });
    expect(waits).toEqual([0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    expect(delays.nextStartMs('other', 1_000)).toBe(0);
    expect(delays.nextStartMs('app', 61_001)).toBe(0);
  });
});
