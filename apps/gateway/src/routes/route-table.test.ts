import { seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { CollectionRouteTable, type ServedRoute } from './route-table.js';

const route = (collectionId: string, generation: number, ...workers: string[]): ServedRoute => ({
  collectionId,
  tenantId: 'acme',
  generation,
  endpoints: workers.map((workerId) => ({ workerId, url: `http://${workerId}` })),
});
const workersOf = (table: CollectionRouteTable, collectionId: string) =>
  table.find(collectionId)?.endpoints.map(({ workerId }) => workerId);

describe('CollectionRouteTable', () => {
  it('comes to the same routes from events in any order, with duplicates', () => {
    const events = [
      route('a', 1, 'w1'),
      route('a', 2, 'w1', 'w2'),
      route('a', 5, 'w2'),
      route('b', 3, 'w1'),
      route('b', 4),
    ];
    const randomness = seededRandomness(3);
    for (let round = 0; round < 50; round += 1) {
      const table = new CollectionRouteTable();
      const shuffled = [...events, ...events]
        .map((event) => ({ event, at: randomness.fraction() }))
        .toSorted((left, right) => left.at - right.at);
      for (const { event } of shuffled) table.apply(event);
      expect([workersOf(table, 'a'), workersOf(table, 'b')]).toEqual([['w2'], []]);
    }
  });

  it('drops what a snapshot lacks, but neither replaces nor drops what came while it was read', () => {
    const table = new CollectionRouteTable();
    table.load([route('removed', 1, 'w1'), route('moved', 2, 'w1')], 0);
    const since = table.generation;
    table.apply(route('moved', 4, 'w2'));
    table.apply(route('defined', 5, 'w3'));
    expect(table.load([route('moved', 2, 'w1'), route('same', 3, 'w1')], since).toSorted()).toEqual([
      'removed',
      'same',
    ]);
    expect(workersOf(table, 'removed')).toBeUndefined();
    expect(workersOf(table, 'moved')).toEqual(['w2']);
    expect(workersOf(table, 'defined')).toEqual(['w3']);
    expect(table.generation).toBe(5);
  });

  it('drops everything when the snapshot is empty', () => {
    const table = new CollectionRouteTable();
    table.load([route('a', 1, 'w1')], 0);
    expect(table.load([], table.generation)).toEqual(['a']);
    expect(table.size).toBe(0);
  });
});
