import type { Randomness } from '@drover/service-kit';

const poolBytes = 4_096;

/** Reads randomness in blocks: trace ids are short, and a read costs the same for any size. */
export function pooledRandomness(randomness: Randomness): Randomness {
  let pool = randomness.bytes(0);
  let at = 0;
  return {
    ...randomness,
    bytes(count) {
      if (count > poolBytes / 8) return randomness.bytes(count);
      if (at + count > pool.byteLength) {
        pool = randomness.bytes(poolBytes);
        at = 0;
      }
      at += count;
      return pool.subarray(at - count, at);
    },
  };
}
