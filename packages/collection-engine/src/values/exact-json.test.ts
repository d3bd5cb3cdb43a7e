import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactJson, exactText, parseExactly } from './exact-json.js';

describe('exact JSON', () => {
  it.each([
    '{"a":9223372036854775807,"b":[-9223372036854775808,1234567890123456.78],"c":90071992547409.93}',
    '{"text":"9223372036854775807","9223372036854775807":"\\"9223372036854775807,\\\\","d":9223372036854775807}',
    '[1.2345678901234567e-25,"é\\n",12345,null,true]',
  ])('keeps every digit of %s', (json) => {
    expect(exactJson(parseExactly(json))).toBe(json);
  });

  it('has numbers that a double holds as numbers, and others as their digits', () => {
    expect(parseExactly('[1.5,"9223372036854775807"]')).toEqual([1.5, '9223372036854775807']);
    expect(exactText(parseExactly('1234567890123456.78') as string)).toBe('1234567890123456.78');
    expect(exactText('text')).toBe('text');
  });

  it('writes what it has read, for any JSON', () => {
    fc.assert(
      fc.property(fc.json(), fc.bigInt(), (json, large) => {
        const text = `[${json},${large}]`;
        expect(exactJson(parseExactly(text))).toBe(exactJson(parseExactly(exactJson(parseExactly(text)))));
        expect(JSON.parse(exactJson(parseExactly(text)))).toEqual(JSON.parse(text));
      }),
      { numRuns: 50 },
    );
  });
});
