import { describe, expect, it } from 'vitest';
import type { HandledRow } from './ledger.js';
import { findViolations } from './violations.js';

const handling = (position: number, key: string, generation: number, atMs = position): HandledRow => ({
  position,
  key,
  generation,
  attempt: `${key}${generation}`,
  handledBy: 'one',
  handledAt: new Date(atMs),
});

const clean = [handling(1, 'a', 1), handling(2, 'b', 1), handling(3, 'a', 2)];
const run = (handled: readonly HandledRow[], repeatsWithinMs = 100): string[] =>
  findViolations({ ledger: clean, handled, repeatsWithinMs });

describe('the verdict on a run', () => {
  it('finds nothing in a clean one', () => expect(run(clean)).toEqual([]));

  it('finds a lost event', () => expect(run(clean.slice(0, 2))).toEqual(['a/2 (a2) was committed, never handled']));

  it('finds an event that was rolled back', () =>
    expect(run([...clean, handling(4, 'c', 1)])).toEqual(['c/1 (c1) was handled, never committed']));

  it('finds a key out of order, though not two keys in any order', () => {
    expect(run([handling(3, 'a', 2), handling(1, 'a', 1), handling(2, 'b', 1)])).toEqual([
      'a/1 (a1) was handled after a/2 (a2)',
    ]);
    expect(run([handling(2, 'b', 1), handling(1, 'a', 1), handling(3, 'a', 2)])).toEqual([]);
  });

  it('allows repeats of what was handled a moment ago, in any order, and of nothing older', () => {
    const again = [...clean, ...clean];
    expect(run(again)).toEqual([]);
    const slow = again.map((row, index) => ({ ...row, handledAt: new Date(index * 40) }));
    expect(run(slow, 79)).toEqual(['a/1 (a1) was handled again after 80 ms of progress']);
    expect(run(slow, 80)).toEqual([]);
  });

  it('does not count outages, nor what was itself a repeat, as progress', () => {
    const rare = [...clean, ...clean, ...clean].map((row, index) => ({ ...row, handledAt: new Date(index * 10_000) }));
    expect(run(rare)).toEqual([]);
  });
});
