import { describe, expect, it } from 'vitest';
import { tenantBounds } from './tenant-bounds.js';

const read = (value: string | undefined) => tenantBounds('BOUNDS', { about: '' }).read({ BOUNDS: value });

describe('the bounds of tenants', () => {
  it('are none without the variable', () => {
    expect(read(undefined).size).toBe(0);
    expect(read(' ').size).toBe(0);
  });

  it('are fewest, most and weight by tenant', () => {
    expect([...read('acme=2..20, beta=0..5*3')]).toEqual([
      ['acme', { minWorkers: 2, maxWorkers: 20, weight: 1 }],
      ['beta', { minWorkers: 0, maxWorkers: 5, weight: 3 }],
    ]);
  });

  it.each(['acme', 'acme=20', 'acme=5..2', 'acme=0..0', 'acme=0..5*0', 'acme=0..5,', 'acme=0..5,acme=0..6', '=0..5'])(
    'refuse %s, and name it',
    (value) => {
      expect(() => read(value)).toThrow(/^BOUNDS has the part ".*"; it must be a list such as/);
    },
  );
});
