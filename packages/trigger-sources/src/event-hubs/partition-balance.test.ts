import { seededRandomness } from '@drover/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClaimSightings, partitionsToClaim } from './partition-balance.js';

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));
const decide = (count: number, owners: Readonly<Record<string, string>>, self: string, seed = 1) =>
  partitionsToClaim({
    partitionIds: ids(count),
    shares: Object.entries(owners).map(([partitionId, ownerId]) => ({ partitionId, ownerId })),
    self,
    randomness: seededRandomness(seed),
  });

describe('the balance of partitions', () => {
  it('gives everything to a runtime that is alone', () => {
    expect(decide(4, {}, 'a').toSorted()).toEqual(ids(4));
  });

  it('takes half from the only other one, and then is content', () => {
    const all = { 0: 'a', 1: 'a', 2: 'a', 3: 'a' };
    const taken = decide(4, all, 'b');
    expect(taken).toHaveLength(2);
    const shared = { ...all, ...Object.fromEntries(taken.map((id) => [id, 'b'])) };
    expect(decide(4, shared, 'b')).toEqual([]);
    expect(decide(4, shared, 'a')).toEqual([]);
  });

  it('takes over what a dead runtime had, and leaves it to others that have less', () => {
    expect(decide(4, { 0: 'a', 1: 'a' }, 'a').toSorted()).toEqual(['2', '3']);
    expect(decide(4, { 0: 'a', 1: 'a', 2: 'b' }, 'a')).toEqual([]);
    expect(decide(4, { 0: 'a', 1: 'a', 2: 'b' }, 'b')).toEqual(['3']);
  });

  it('reaches a state in which all partitions are read and no two runtimes differ by more than one, and stays there', () => {
    const worlds = fc.record({
      partitions: fc.integer({ min: 1, max: 32 }),
      runtimes: fc.integer({ min: 1, max: 6 }),
      seed: fc.nat(10_000),
      start: fc.array(fc.integer({ min: -1, max: 5 }), { minLength: 32, maxLength: 32 }),
    });
    fc.assert(
      fc.property(worlds, ({ partitions, runtimes, seed, start }) => {
        const owners = new Map<string, string>();
        for (const id of ids(partitions)) {
          const owner = start[Number(id)] ?? -1;
          if (owner >= 0 && owner < runtimes) owners.set(id, `r${owner}`);
        }
        const step = (turn: number): boolean => {
          let changed = false;
          for (let runtime = 0; runtime < runtimes; runtime += 1) {
            const wanted = decide(partitions, Object.fromEntries(owners), `r${runtime}`, seed + turn);
            for (const id of wanted) owners.set(id, `r${runtime}`);
            changed ||= wanted.length > 0;
          }
          return changed;
        };
        let turn = 0;
        while (step(turn) && turn < 50) turn += 1;
        const counts = ids(runtimes).map(
          (runtime) => [...owners.values()].filter((owner) => owner === `r${runtime}`).length,
        );
        expect(owners.size).toBe(partitions);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        expect(turn).toBeLessThan(10);
      }),
    );
  });
});

describe('the expiry of claims', () => {
  it('counts from when this process saw a claim unchanged, whatever clocks others have', () => {
    const sightings = new ClaimSightings(1_000);
    const claim = { partitionId: '0', version: '7' };
    expect(sightings.see([claim], 5_000)).toEqual(new Set());
    expect(sightings.see([claim], 5_999)).toEqual(new Set());
    expect(sightings.see([claim], 6_000)).toEqual(new Set(['0']));
  });

  it('starts again with each renewal', () => {
    const sightings = new ClaimSightings(1_000);
    sightings.see([{ partitionId: '0', version: '7' }], 0);
    expect(sightings.see([{ partitionId: '0', version: '8' }], 1_000)).toEqual(new Set());
    expect(sightings.see([{ partitionId: '0', version: '8' }], 1_999)).toEqual(new Set());
    expect(sightings.see([{ partitionId: '0', version: '8' }], 2_000)).toEqual(new Set(['0']));
  });
});
