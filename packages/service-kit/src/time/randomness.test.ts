import { describe, expect, it } from 'vitest';
import { systemRandomness } from './randomness.js';

describe('systemRandomness', () => {
  it('returns UUIDs of version 4, bytes and fractions', () => {
    expect(systemRandomness.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(systemRandomness.bytes(9)).toHaveLength(9);
    expect(systemRandomness.fraction()).toBeLessThan(1);
  });
});
