import { describe, expect, it } from 'vitest';
import { atLeast, below, formatTable, times } from './table.js';

describe('the table', () => {
  it('has one line a figure, its columns under each other, and says which goals were missed', () => {
    const table = formatTable([
      {
        what: 'inserts',
        value: 12_345.6,
        unit: 'rows/s',
        ratio: times(9.126, 'one by one'),
        goal: atLeast(9.126, 8, 'x'),
      },
      { what: 'latency', value: 25.04, unit: 'ms', goal: below(25.04, 20, ' ms') },
      { what: 'yardstick', value: 0.5, unit: 's' },
    ]);
    expect(table.split('\n')).toEqual([
      'what        value  unit    ratio             goal     reached',
      '---------  ------  ------  ----------------  -------  -------',
      'inserts    12,346  rows/s  9.13x one by one  >= 8x    yes',
      'latency      25.0  ms                        < 20 ms  NO',
      'yardstick    0.50  s',
    ]);
  });

  it('counts a value that only just misses as missed', () => {
    expect(below(20, 20, ' ms').reached).toBe(false);
    expect(atLeast(8, 8, 'x').reached).toBe(true);
  });
});
