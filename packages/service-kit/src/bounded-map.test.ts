import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BoundedMap } from './bounded-map.js';

const small = fc.integer({ min: 0, max: 20 });
const commands = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('set' as const), key: small, weight: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ kind: fc.constant('get' as const), key: small }),
    fc.record({ kind: fc.constant('delete' as const), key: small }),
    fc.record({ kind: fc.constant('clear' as const) }),
  ),
  { maxLength: 200 },
);

describe('BoundedMap', () => {
  it.each(['evict-unused', 'reject'] as const)(
    'never exceeds its weight and never returns a value that was replaced or deleted, when it has to %s',
    (whenFull) => {
      fc.assert(
        fc.property(commands, fc.integer({ min: 2, max: 30 }), (run, maxWeight) => {
          const map = new BoundedMap<number, { weight: number }>({ maxWeight, weigh: (v) => v.weight, whenFull });
          const latest = new Map<number, { weight: number }>();
          for (const command of run) {
            if (command.kind === 'set') {
              const value = { weight: command.weight };
              const isStored = map.set(command.key, value);
              if (isStored) latest.set(command.key, value);
              else latest.delete(command.key);
              expect(map.get(command.key)).toBe(isStored ? value : undefined);
            } else if (command.kind === 'delete') {
              map.delete(command.key);
              latest.delete(command.key);
            } else if (command.kind === 'clear') {
              map.clear();
              latest.clear();
            } else expect([latest.get(command.key), undefined]).toContain(map.get(command.key));
            const keys = map.keys();
            expect(keys).toHaveLength(map.size);
            expect(new Set(keys).size).toBe(keys.length);
            const weight = keys.reduce((sum, key) => sum + (latest.get(key)?.weight ?? Number.NaN), 0);
            expect(weight).toBeLessThanOrEqual(maxWeight);
          }
        }),
      );
    },
  );

  it('keeps entries that are read while others pass through', () => {
    const map = new BoundedMap<number, string>({ maxWeight: 10, whenFull: 'evict-unused' });
    map.set(-1, 'in use');
    for (let key = 0; key < 1_000; key += 1) {
      map.set(key, 'passing');
      expect(map.get(-1)).toBe('in use');
    }
    expect(map.size).toBeLessThanOrEqual(10);
    expect(map.get(0)).toBeUndefined();
    expect(map.get(999)).toBe('passing');
  });

  it('keeps what it has when it rejects, and accepts again after a delete', () => {
    const map = new BoundedMap<string, number>({ maxWeight: 2, whenFull: 'reject' });
    expect([map.set('a', 1), map.set('b', 2), map.set('c', 3)]).toEqual([true, true, false]);
    expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([1, 2, undefined]);
    expect(map.set('a', 4)).toBe(true);
    expect(map.delete('b')).toBe(true);
    expect(map.set('c', 3)).toBe(true);
    expect(map.keys().toSorted()).toEqual(['a', 'c']);
  });

  it('does not store an entry that outweighs half of the map, and drops the value that it should replace', () => {
    const map = new BoundedMap<string, number>({ maxWeight: 10, weigh: (bytes) => bytes, whenFull: 'evict-unused' });
    map.set('a', 5);
    expect(map.set('a', 6)).toBe(false);
    expect(map.get('a')).toBeUndefined();
  });

  it('refuses a bound that can hold nothing', () => {
    for (const maxWeight of [0, 1, Number.NaN])
      expect(() => new BoundedMap({ maxWeight, whenFull: 'reject' })).toThrow(/maxWeight .* must be 2 or more/);
  });
});
