import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findSpans } from './json-spans.js';

const valueOf = (json: string, key: string): unknown => {
  const span = findSpans(json).values.get(key);
  return span && JSON.parse(json.slice(...span));
};

describe('findSpans', () => {
  it('finds every value of any object, however it is written', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.constantFrom(undefined, 1, '\t', ' \n'),
        (object, space) => {
          const json = JSON.stringify(object, undefined, space);
          const spans = findSpans(json);
          const keys = Object.keys(JSON.parse(json) as object);
          expect(spans.values.size).toBe(keys.length);
          for (const key of keys) {
            const [start, end] = spans.values.get(key) ?? [0, 0];
            expect(JSON.parse(json.slice(start, end))).toEqual((JSON.parse(json) as Record<string, unknown>)[key]);
          }
        },
      ),
    );
  });

  it('takes the last of a key that stands twice, as the parser does', () => {
    expect(valueOf('{"input":1,"input":{"a":2}}', 'input')).toEqual({ a: 2 });
    expect(valueOf('{"input":1,"\\u0069nput":2}', 'input')).toBe(2);
  });

  it('is not misled by quotes, brackets and colons in strings', () => {
    const json = '{ "a\\"b" : "}]{[:,\\\\" , "input" : ["\\\\\\"", ":"] }';
    expect(valueOf(json, 'input')).toEqual(['\\"', ':']);
  });

  it.each([
    ['{}', 1],
    ['{"a":[]}', 2],
    ['{"a":[[{"b":"[[[["}]]}', 4],
    [`{"a":${'['.repeat(500)}${']'.repeat(500)}}`, 501],
  ])('counts how deep it goes: %s', (json, depth) => {
    expect(findSpans(json).depth).toBe(depth);
  });
});
