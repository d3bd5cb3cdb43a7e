import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { desiredOwners } from './desired-owners.js';

const ids = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,4}$/), { minLength: 1, maxLength: 20 });
const partitions = fc.integer({ min: 0, max: 40 });

/** Live replicas, and partitions owned by some of them, by failed ones, or by none. */
const situation = fc.tuple(ids, ids, partitions).chain(([alive, dead, count]) =>
  fc.record({
    alive: fc.constant(alive),
    holders: fc.array(fc.constantFrom(undefined, ...alive, ...dead), { minLength: count, maxLength: count }),
  }),
);

function countsOf(alive: readonly string[], owners: readonly (string | undefined)[]): number[] {
  return alive.map((id) => owners.filter((owner) => owner === id).length);
}

function movesBetween(
  alive: readonly string[],
  before: readonly (string | undefined)[],
  after: readonly (string | undefined)[],
): number {
  return before.filter((id, at) => id !== undefined && alive.includes(id) && after[at] !== id).length;
}

describe('desiredOwners', () => {
  it('gives every partition to a live replica, and none two more than another', () => {
    fc.assert(
      fc.property(situation, ({ alive, holders }) => {
        const desired = desiredOwners(alive, holders);
        expect(desired).toHaveLength(holders.length);
        expect(desired.filter((id) => id === undefined || !alive.includes(id))).toEqual([]);
        const counts = countsOf(alive, desired);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('does not depend on the order of the replicas', () => {
    fc.assert(
      fc.property(
        situation.chain(({ alive, holders }) =>
          fc.record({
            alive: fc.constant(alive),
            holders: fc.constant(holders),
            shuffled: fc.shuffledSubarray(alive, { minLength: alive.length }),
          }),
        ),
        ({ alive, holders, shuffled }) => {
          expect(desiredOwners(shuffled, holders)).toEqual(desiredOwners(alive, holders));
        },
      ),
    );
  });

  it('moves no more than balance demands', () => {
    fc.assert(
      fc.property(situation, ({ alive, holders }) => {
        const counts = countsOf(alive, holders).toSorted((a, b) => b - a);
        const share = Math.floor(holders.length / alive.length);
        const leftOver = holders.length % alive.length;
        // The larger shares go to the replicas that own most, so only what exceeds a share has to move.
        const fewest = counts.reduce((sum, has, rank) => sum + Math.max(0, has - share - (rank < leftOver ? 1 : 0)), 0);
        expect(movesBetween(alive, holders, desiredOwners(alive, holders))).toBe(fewest);
      }),
    );
  });

  it('moves one share when a replica joins, and nothing between the others when one leaves', () => {
    fc.assert(
      fc.property(ids, partitions, fc.nat(), (alive, count, index) => {
        const settled = desiredOwners(
          alive,
          Array.from({ length: count }, () => undefined),
        );
        const joined = [...alive, 'newcomer'];
        expect(movesBetween(joined, settled, desiredOwners(joined, settled))).toBeLessThanOrEqual(
          Math.ceil(count / joined.length),
        );
        const left = alive.toSpliced(index % alive.length, 1);
        if (left.length > 0) expect(movesBetween(left, settled, desiredOwners(left, settled))).toBe(0);
      }),
    );
  });

  it('is reached in single steps in any order, and then stays', () => {
    fc.assert(
      fc.property(situation, fc.infiniteStream(fc.nat()), ({ alive, holders }, chance) => {
        const owners = holders.map((id) => (id !== undefined && alive.includes(id) ? id : undefined));
        // Each step is a release or an acquisition, decided anew by what is seen at that moment.
        for (let step = 0; ; step += 1) {
          const desired = desiredOwners(alive, owners);
          const open = owners.flatMap((id, partition) => (id === desired[partition] ? [] : [partition]));
          if (open.length === 0) break;
          expect(step).toBeLessThan(4 * holders.length);
          const partition = open[(chance.next().value ?? 0) % open.length] ?? 0;
          owners[partition] = owners[partition] === undefined ? desired[partition] : undefined;
        }
      }),
    );
  });

  it('returns no owner when there is no replica', () => {
    expect(desiredOwners([], ['gone', undefined])).toEqual([undefined, undefined]);
  });
});
