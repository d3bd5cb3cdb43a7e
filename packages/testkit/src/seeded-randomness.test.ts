import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandomness } from './seeded-randomness.js';

const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('seededRandomness', () => {
  it('returns the same sequence for the same seed', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const [one, other] = [seededRandomness(seed), seededRandomness(seed)];
        for (let round = 0; round < 5; round++) {
          expect(one.fraction()).toBe(other.fraction());
          expect(one.uuid()).toBe(other.uuid());
          expect(one.bytes(3)).toEqual(other.bytes(3));
        }
      }),
    );
  });

  it('returns the documented numbers for a seed', () => {
    const randomness = seededRandomness(42);
    expect([randomness.fraction(), randomness.fraction()].map((value) => value.toFixed(6))).toEqual([
      '0.218840',
      '0.919386',
    ]);
    expect(randomness.uuid()).toBe('cb3dbf71-dbee-495c-852d-c349371e8578');
  });

  it('returns another sequence for another seed', () => {
    const firsts = new Set(Array.from({ length: 1_000 }, (_, seed) => seededRandomness(seed).fraction()));
    expect(firsts.size).toBe(1_000);
  });

  it('spreads fractions roughly evenly over [0, 1)', () => {
    const randomness = seededRandomness(7);
    const buckets = Array.from({ length: 20 }, () => 0);
    for (let draw = 0; draw < 20_000; draw++) {
      const bucket = Math.floor(randomness.fraction() * 20);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    expect(buckets).toHaveLength(20); // nothing fell outside
    // 1000 expected in each, with a standard deviation of 31
    for (const hits of buckets) expect(Math.abs(hits - 1_000)).toBeLessThan(160);
  });

  it('spreads bytes over all values', () => {
    expect(new Set(seededRandomness(7).bytes(8_192)).size).toBe(256);
  });

  it('makes different UUIDs of version 4', () => {
    const randomness = seededRandomness(3);
    const made = Array.from({ length: 2_000 }, () => randomness.uuid());
    for (const one of made) expect(one).toMatch(uuidV4);
    expect(new Set(made).size).toBe(2_000);
  });
});
