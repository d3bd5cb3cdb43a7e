import { describe, expect, it } from 'vitest';
import { parseJsonWithComments } from './json-with-comments.js';

describe('JSON with comments', () => {
  it.each([
    ['{"a": 1} // the end', { a: 1 }],
    ['// first\r\n{"a": /* one */ 1}', { a: 1 }],
    ['{"a": "http://x/*y*/, ]", "b": "\\"// no"}', { a: 'http://x/*y*/, ]', b: '"// no' }],
    ['[1, 2, // last\n]', [1, 2]],
    ['{"a": [], /* x */ }', { a: [] }],
    ['\uFEFF{}', {}],
  ])('%j is read', (text, value) => {
    expect(parseJsonWithComments(text)).toEqual(value);
  });

  it.each(['{"a": }', '[1 2]', '/* open', '{"a" 1}'])('%j is refused', (text) => {
    expect(() => parseJsonWithComments(text)).toThrow(SyntaxError);
  });
});
