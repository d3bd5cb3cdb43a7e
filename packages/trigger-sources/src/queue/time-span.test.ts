import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTimeSpan, parseTimeSpan } from './time-span.js';

describe('a time span', () => {
  it.each([
    ['00:00:30', 30_000],
    ['00:01', 60_000],
    ['1:2:3', 3_723_000],
    ['7.00:00:00', 604_800_000],
    ['00:00:00.25', 250],
    ['00:00:00.1000000', 100],
    [' 00:10:00 ', 600_000],
  ])('%j has its milliseconds', (text, ms) => {
    expect(parseTimeSpan(text)).toBe(ms);
  });

  it.each(['30', '', '24:00:00', '00:60:00', '00:00:60', '-00:00:01', '1 minute', '00:00:00.12345678'])(
    '%j is none',
    (text) => {
      expect(parseTimeSpan(text)).toBeUndefined();
    },
  );

  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.nat(700_000_000), (ms) => {
        expect(parseTimeSpan(formatTimeSpan(ms))).toBe(ms);
      }),
    );
  });
});
