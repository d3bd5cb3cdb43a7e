import { describe, expect, it } from 'vitest';
import { apportion } from './apportion.js';

describe('apportion', () => {
  it.each([
    [10, { a: 100 }, { a: 10 }],
    [10, { a: 90, b: 10 }, { a: 9, b: 1 }],
    [3, { a: 50, b: 50 }, { a: 2, b: 1 }],
    [7, { a: 34, b: 33, c: 33 }, { a: 3, b: 2, c: 2 }],
    [2, { a: 99, b: 1 }, { a: 1, b: 1 }],
    [0, { a: 100 }, { a: 0 }],
    [5, { a: 100, b: 0 }, { a: 5 }],
  ])('%i workers over %j are %j', (workers, traffic, expected) => {
    expect(Object.fromEntries(apportion(workers, traffic))).toEqual(expected);
  });

  it('gives every version with traffic a worker, even with fewer workers than versions', () => {
    expect([...apportion(1, { a: 60, b: 40 }).values()]).toEqual([1, 1]);
  });

  it('never distributes more than asked for if there are enough for all versions', () => {
    for (let workers = 3; workers < 60; workers += 1) {
      const counts = apportion(workers, { a: 97, b: 2, c: 1 });
      expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(workers);
    }
  });
});
