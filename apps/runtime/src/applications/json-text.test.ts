import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonText } from './json-text.js';

describe('parseJsonText', () => {
  it('reads whatever JSON.parse reads, to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        expect(parseJsonText(text)).toEqual({ value: JSON.parse(text) });
      }),
    );
  });

  it('forgives comments, trailing commas and a byte order mark', () => {
    const text = '\uFEFF{ // one\n "a": [1, 2, /* two */ ], "b": "// no comment, /* neither */,]" , }\n// end';
    expect(parseJsonText(text)).toEqual({ value: { a: [1, 2], b: '// no comment, /* neither */,]' } });
  });

  it('does not forgive two commas, an open string or an open comment', () => {
    for (const text of ['[1,,]', '{"a": "b', '{ /* "a": 1 }', '[,]x', ''])
      expect(parseJsonText(text)).toHaveProperty('problem');
  });

  it('says where it stopped', () => {
    expect(parseJsonText('{\n  "a": 1,\n  b: 2\n}')).toMatchObject({ problem: expect.stringContaining('line 3') });
  });

  it('comes to an end with a hostile file', () => {
    for (const piece of ['/*', ',   ', '"', '\\"', '{"'])
      expect(parseJsonText(piece.repeat(200_000))).toHaveProperty('problem');
  });
});
