import { describe, expect, it } from 'vitest';
import { leastLoaded } from './least-loaded.js';

const worker = (name: string, load: number, lastUsedMs = 0) => ({ name, load, lastUsedMs });

describe('the choice of a worker', () => {
  it('falls on the one with the fewest requests in hand', () => {
    expect(leastLoaded([worker('a', 3), worker('b', 1), worker('c', 2)], 8)?.name).toBe('b');
  });

  it('falls on nobody when all have as many as they may have', () => {
    expect(leastLoaded([worker('a', 2), worker('b', 2)], 2)).toBeUndefined();
    expect(leastLoaded([], 2)).toBeUndefined();
  });

  it('falls among equals on the one used last, so that the others can be ended', () => {
    expect(leastLoaded([worker('a', 0, 5), worker('b', 0, 9), worker('c', 0, 7)], 1)?.name).toBe('b');
  });
});
