import { describe, expect, it } from 'vitest';
import { nullRecord } from './map-entries.js';

describe('nullRecord', () => {
  it('accepts names of object members as ordinary keys', () => {
    const record = new nullRecord<string>();
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) record[key] = `value of ${key}`;
    expect(Object.keys(record)).toEqual(['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']);
    expect(record['__proto__']).toBe('value of __proto__');
    expect(({} as Record<string, unknown>)['value of __proto__']).toBeUndefined();
  });

  it('has nothing that was not put in, and cannot give it to the next one', () => {
    const record = new nullRecord<string>();
    record['__proto__'] = 'x';
    const other = new nullRecord<string>();
    expect(other['__proto__']).toBeUndefined();
    expect(other['constructor']).toBeUndefined();
    expect('toString' in other).toBe(false);
  });
});
