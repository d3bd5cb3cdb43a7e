import { describe, expect, it } from 'vitest';
import { parseTimeSpan } from './time-span.js';

describe('parseTimeSpan', () => {
  it.each([
    ['00:05:00', 300_000],
    ['00:00:00.5', 500],
    ['00:00:00.0000001', 0.0001],
    ['23:59:59', 86_399_000],
    ['1.00:00:00', 86_400_000],
    ['10:30', 37_800_000],
    ['7', 604_800_000],
    ['0', 0],
    [' 00:00:01 ', 1_000],
  ])('reads %s as %d ms', (text, expected) => {
    expect(parseTimeSpan(text)).toBe(expected);
  });

  it.each(['', '-1', '24:00:00', '00:60:00', '00:00:60', '1:2:3', '5m', '-00:00:01', '1.5', '00:00:00.12345678'])(
    'refuses "%s"',
    (text) => {
      expect(parseTimeSpan(text)).toBeUndefined();
    },
  );
});
