import { hasCode } from '@drover/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonBody } from './json-body.js';

const nestedArrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const nestedObjects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
const objectOf = (keys: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, n])));

function problemOf(text: string): string {
  try {
    parseJsonBody(text);
  } catch (error) {
    expect(hasCode(error, 'BAD_REQUEST')).toBe(true);
    return error instanceof Error ? error.message : '';
  }
  return 'none';
}

describe('parseJsonBody', () => {
  it('returns what JSON.parse returns for every small value', () => {
    const ordinary = fc
      .jsonValue({ maxDepth: 4 })
      .filter((value) => !/"(__proto__|constructor|prototype)":/.test(JSON.stringify(value)));
    fc.assert(
      fc.property(ordinary, (value) => {
        const text = JSON.stringify(value);
        expect(parseJsonBody(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each([
    ['arrays', nestedArrays],
    ['objects', nestedObjects],
  ])('takes %s in 32 levels and refuses the 33rd', (_, nested) => {
    expect(problemOf(nested(32))).toBe('none');
    expect(problemOf(nested(33))).toBe('the body is nested deeper than 32 levels');
  });

  it('refuses JSON of 100,000 levels without running out of stack', () => {
    for (const nested of [nestedArrays, nestedObjects]) expect(problemOf(nested(100_000))).toMatch(/deeper than 32/);
    expect(problemOf('['.repeat(100_000))).toMatch(/not valid JSON/);
  });

  it('takes 10,000 keys and refuses one more, wherever they are', () => {
    expect(problemOf(objectOf(10_000))).toBe('none');
    expect(problemOf(objectOf(10_001))).toBe('the body has more than 10000 keys and items');
    expect(problemOf(`[${objectOf(5_000)},${objectOf(4_998)}]`)).toBe('none');
    expect(problemOf(`[${objectOf(5_000)},${objectOf(4_999)}]`)).toMatch(/more than 10000/);
  });

  it('counts items of arrays too: validators compare them with each other', () => {
    const items = (count: number): string => JSON.stringify(Array.from({ length: count }, (_, n) => n));
    expect(problemOf(items(10_000))).toBe('none');
    expect(problemOf(items(10_001))).toMatch(/more than 10000/);
    expect(problemOf(items(150_000))).toMatch(/more than 10000/);
  });

  it.each(['__proto__', 'constructor', 'prototype'])('refuses the key %s at any depth', (key) => {
    expect(problemOf(`{"${key}":{}}`)).toBe(`the key "${key}" is not allowed`);
    expect(problemOf(`{"a":[{"b":{"${key}":{"polluted":true}}}]}`)).toBe(`the key "${key}" is not allowed`);
    expect({}).not.toHaveProperty('polluted');
  });

  it('refuses a forbidden key also when it is written with escapes, and takes it as a value', () => {
    expect(problemOf(String.raw`{"\u005f_proto__":1}`)).toMatch(/is not allowed/);
    expect(problemOf('["__proto__","constructor"]')).toBe('none');
  });

  it.each(['', '{', '{"a":1,}', "{'a':1}", 'undefined', 'NaN', '{"a":1}{"b":2}', '\ufeff{}', '{"a":"\n"}'])(
    'says that %j is not valid JSON',
    (text) => {
      expect(problemOf(text)).toMatch(/^the body is not valid JSON/);
    },
  );

  it('quotes little of a long body that is not valid', () => {
    expect(problemOf(`{"password":"${'x'.repeat(10_000)}",}`).length).toBeLessThan(200);
  });
});
