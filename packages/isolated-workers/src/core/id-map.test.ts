import { expect, it } from 'vitest';
import { IdMap } from './id-map.js';

/** A sequence of numbers below `limit` that is the same in each run. */
function randomBelow(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  };
}

it.each([1, 2, 3, 4])('agrees with a Map, whatever is added and removed (seed %i)', (seed) => {
  const random = randomBelow(seed);
  const [ours, theirs] = [new IdMap<string>(), new Map<number, string>()];
  let next = 1;
  for (let step = 0; step < 8_000; step += 1) {
    // In waves, so that it grows and shrinks; with gaps of any width, so that ids meet at one place.
    const isGrowing = Math.floor(step / 2_000) % 2 === 0;
    if (random(10) < (isGrowing ? 7 : 3)) {
      next += random(50) === 0 ? 256 * (1 + random(5)) : 1;
      ours.add(next, `value ${next}`);
      theirs.set(next, `value ${next}`);
    } else {
      const known = [...theirs.keys()].slice(0, 300);
      const id = known[random(known.length + 1)] ?? next + 1;
      ours.delete(id);
      theirs.delete(id);
    }
    const asked = Math.max(1, next - random(600));
    expect(ours.get(asked)).toBe(theirs.get(asked));
    expect(ours.size).toBe(theirs.size);
    if (step % 100 !== 0) continue;
    expect(ours.toSorted()).toEqual([...theirs.values()]);
    expect(ours.first).toBe([...theirs.keys()][0]);
  }
});

it('is empty and usable after clear', () => {
  const map = new IdMap<string>();
  for (let id = 1; id <= 1_000; id += 1) map.add(id, 'old');
  map.clear();
  expect([map.size, map.first, map.get(7), map.toSorted()]).toEqual([0, undefined, undefined, []]);
  map.add(1_001, 'new');
  expect([map.first, map.get(1_001)]).toEqual([1_001, 'new']);
});

it('refuses an id that is not greater than all before it', () => {
  const map = new IdMap<string>();
  map.add(7, 'seven');
  map.delete(7);
  expect(() => map.add(7, 'again')).toThrow('The id 7 is not greater than 7.');
});
