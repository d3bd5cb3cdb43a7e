import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexedHeap } from './indexed-heap.js';

interface Item {
  key: number;
  readonly id: number;
  index: number;
}

const isBefore = (a: Item, b: Item): boolean => a.key < b.key || (a.key === b.key && a.id < b.id);
const sorted = (items: readonly Item[]): Item[] => items.toSorted((a, b) => (isBefore(a, b) ? -1 : 1));

describe('an indexed heap', () => {
  it('has the order of a sorted list after any additions, moves and removals', () => {
    const step = fc.record({ act: fc.constantFrom('add', 'add', 'move', 'remove'), key: fc.nat(20), at: fc.nat(100) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(10), (steps, most) => {
        const heap = new IndexedHeap<Item>(isBefore, (item, index) => (item.index = index));
        const list: Item[] = [];
        for (const [id, { act, key, at }] of steps.entries()) {
          const chosen = list[at % Math.max(1, list.length)];
          if (act === 'add' || !chosen) {
            const item = { key, id, index: -1 };
            list.push(item);
            heap.add(item);
          } else if (act === 'move') {
            chosen.key = key;
            heap.moved(chosen, chosen.index);
          } else {
            list.splice(list.indexOf(chosen), 1);
            heap.remove(chosen.index);
          }
          expect(heap.first).toBe(sorted(list)[0]);
          expect(heap.size).toBe(list.length);
        }
        const visited: Item[] = [];
        heap.visit((item) => visited.push(item) < most);
        expect(visited).toEqual(sorted(list).slice(0, Math.max(1, most)));
        const drained: Item[] = [];
        for (let { first } = heap; first; { first } = heap) {
          drained.push(first);
          heap.remove(first.index);
        }
        expect(drained).toEqual(sorted(list));
      }),
    );
  });
});
