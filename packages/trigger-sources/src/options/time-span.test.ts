import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTimeSpan, parseTimeSpan } from './time-span.js';

const dayMs = 86_400_000;

describe('parseTimeSpan', () => {
  it.each([
    ['0', 0],
    ['5', 5 * dayMs],
    ['10:30', 37_800_000],
    ['00:05:00', 300_000],
    ['1:2:3', 3_723_000],
    ['00:00:5', 5_000],
    ['23:59:59', 86_399_000],
    ['00:00:00.5', 500],
    ['00:00:00.0000001', 0.0001],
    ['0023:0059:0059.0099', 86_399_009.9],
    ['1.02:03', dayMs + 7_380_000],
    ['1.02:03:04', dayMs + 7_384_000],
    ['1.02:03:04.25', dayMs + 7_384_250],
    ['7.00:00:00', 7 * dayMs],
    [' 00:00:01 ', 1_000],
    ['-00:00:01', -1_000],
    ['-1', -dayMs],
    ['-0', 0],
    ['10675199.02:48:05', 922_337_203_685_000],
  ])('reads %j as %d ms', (text, expected) => {
    expect(parseTimeSpan(text)).toBe(expected);
  });

  it.each([
    ['24:00:00', 24 * dayMs],
    ['25:01:02', 25 * dayMs + 3_720_000],
    ['6:12:14:45', 6 * dayMs + 44_085_000],
    ['6:12:14:45.3448', 6 * dayMs + 44_085_344.8],
  ])('reads a first number that is no hour, or a fourth one, as days: %j', (text, expected) => {
    expect(parseTimeSpan(text)).toBe(expected);
  });

  it.each([
    '',
    ':',
    '5m',
    '1.5',
    '1.',
    '.5',
    '00:60',
    '00:60:00',
    '00:00:60',
    '24:00',
    '24:00:00.5',
    '24:24:00',
    '1.24:00:00',
    '6:34:14:45',
    '1.2:3:4:5',
    '1:2:3:4:5',
    '00:00:00.12345678',
    '00:01.5',
    '00:00:00.',
    '10675199.02:48:06',
    '10675200',
    '999999999',
    '+1',
    '--1',
    '1 :2',
  ])('returns undefined for %j', (text) => {
    expect(parseTimeSpan(text)).toBeUndefined();
  });

  it('reads what formatTimeSpan wrote', () => {
    fc.assert(
      fc.property(fc.nat(700_000_000), (ms) => {
        expect(parseTimeSpan(formatTimeSpan(ms))).toBe(ms);
      }),
    );
  });
});
