import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Deque } from './deque.js';

describe('Deque', () => {
  it('behaves like an array for any sequence of push, unshift and shift', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer({ min: -9, max: 9 }), fc.constant('shift' as const)), { maxLength: 400 }),
        (steps) => {
          const deque = new Deque<number>();
          const array: number[] = [];
          for (const step of steps) {
            if (step === 'shift') expect(deque.shift()).toBe(array.shift());
            else if (step < 0) {
              deque.unshift(step);
              array.unshift(step);
            } else {
              deque.push(step);
              array.push(step);
            }
            expect([deque.size, deque.peek(), [...deque]]).toEqual([array.length, array[0], array]);
          }
        },
      ),
    );
  });

  it('keeps its order through growing and being emptied', () => {
    const deque = new Deque<number>();
    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 5_000; n += 1) deque.push(n);
      for (let n = 0; n < 5_000; n += 1) expect(deque.shift()).toBe(n);
      expect(deque.shift()).toBeUndefined();
    }
  });
});
