import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentMap } from './recent-map.js';

describe('RecentMap', () => {
  it('keeps what is in use and lets go of what is not', () => {
    const map = new RecentMap<string, number>(10);
    for (let number = 0; number < 100; number += 1) {
      map.set(`n${number}`, number, 1);
      expect(map.get('n0')).toBe(0);
    }
    expect(map.get('n99')).toBe(99);
    expect(map.get('n50')).toBeUndefined();
  });

  it('is never heavier than it may be, and never answers with anything but the latest value', () => {
    const key = fc.integer({ min: 0, max: 20 });
    const step = fc.oneof(
      fc.record({ do: fc.constant('set' as const), key, weight: fc.integer({ min: 1, max: 60 }) }),
      fc.record({ do: fc.constant('get' as const), key }),
      fc.record({ do: fc.constant('delete' as const), key }),
      fc.record({ do: fc.constant('clear' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const map = new RecentMap<number, number>(100);
        const latest = new Map<number, { readonly at: number; readonly weight: number }>();
        for (const [at, step] of steps.entries()) {
          if (step.do === 'set') {
            map.set(step.key, at, step.weight);
            latest.set(step.key, { at, weight: step.weight });
            expect(map.get(step.key)).toBe(step.weight > 50 ? undefined : at);
          } else if (step.do === 'get') {
            const value = map.get(step.key);
            if (value !== undefined) expect(value).toBe(latest.get(step.key)?.at);
          } else if (step.do === 'delete') {
            map.delete(step.key);
            expect(map.get(step.key)).toBeUndefined();
          } else {
            map.clear();
            expect(map.keys()).toEqual([]);
          }
          const keys = map.keys();
          expect(new Set(keys).size).toBe(keys.length);
          const weight = keys.reduce((sum, each) => sum + (latest.get(each)?.weight ?? Number.NaN), 0);
          expect(weight).toBeLessThanOrEqual(100);
        }
      }),
    );
  });
});
