import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findInexact, type NumberLiteral, parseClientJson, roundLiterals } from './number-literal.js';

describe('parseClientJson', () => {
  it.each([
    ['12345678901234567890', false],
    ['-9007199254740993', false],
    ['1e400', false],
    ['1E-400', false],
    ['1.0000000000000000001', false],
    [`1${'0'.repeat(500)}`, false],
    ['0.30000000000000004', true],
    ['1.0000000000000000000', true],
    ['100000000000000000000', true],
    ['9007199254740992', true],
    ['2.5e-0000000000000003', true],
    ['1.7976931348623157e308', true],
  ])('knows whether a double holds %s', (text, isExact) => {
    const [literal] = parseClientJson(`[${text},1]`) as [NumberLiteral];
    expect([literal.text, literal.isExact]).toEqual([text, isExact]);
  });

  it('finds the place of a number that a double would change, and takes no text for one', () => {
    const parsed = parseClientJson(
      '{"12345678901234567890":"12345678901234567890 \\" 1e999","a":{"b":[1,0.30000000000000004,1e400]}}',
    );
    expect(findInexact(parsed)).toEqual({ text: '1e400', path: ['a', 'b', '2'] });
  });

  it('reads any JSON as JSON.parse does, once its literals are rounded', () => {
    fc.assert(
      fc.property(fc.json(), fc.bigInt(), fc.double(), (json, large, double) => {
        const text = `[${json},${large},${Number.isFinite(double) ? JSON.stringify(double) : 1}]`;
        expect(roundLiterals(parseClientJson(text))).toEqual(JSON.parse(text));
      }),
      { numRuns: 100 },
    );
  });

  it('decides about a number of a million digits at once', () => {
    const [literal] = parseClientJson(`[1${'0'.repeat(1_000_000)}1]`) as [NumberLiteral];
    expect(literal.isExact).toBe(false);
  });
});
