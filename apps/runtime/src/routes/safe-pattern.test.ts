import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePattern } from './safe-pattern.js';

function matches(source: string, text: string): boolean | string {
  const compiled = compilePattern(source);
  return 'problem' in compiled ? compiled.problem : compiled.matches(text);
}

/**
 * Patterns of all that is known here, over a small alphabet. Only two groups deep: with more, it is the engine of
 * JavaScript that takes for ever.
 */
function patterns(depth: number): fc.Arbitrary<string> {
  const simple = fc.constantFrom(
    'a',
    'b',
    '.',
    '\\d',
    '\\w',
    '[ab]',
    '[^a]',
    '[a-c0-2]',
    '\\.',
    '^',
    '$',
    '1',
    '[\\d-]',
  );
  const group = (inner: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.oneof(
      inner.map((text) => `(${text})`),
      inner.map((text) => `(?:${text})`),
    );
  const atom = depth === 0 ? simple : fc.oneof({ arbitrary: simple, weight: 3 }, group(patterns(depth - 1)));
  const repeat = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{0,}', '*?');
  const sequence = fc
    .array(fc.tuple(atom, repeat), { maxLength: 4 })
    .map((parts) => parts.map(([part, times]) => (/^[\^$]$/.test(part) ? part : part + times)).join(''));
  return fc.array(sequence, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('|'));
}

describe('compilePattern', () => {
  it('matches exactly what the regular expressions of JavaScript match', () => {
    fc.assert(
      fc.property(
        patterns(2),
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '-', 'A'), maxLength: 6 }),
        (source, text) => {
          const compiled = compilePattern(source);
          if ('problem' in compiled) return;
          expect(compiled.matches(text)).toBe(new RegExp(source, 'i').test(text));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['^\\d{3}-\\d{4}$', '555-1234', true],
    ['^\\d{3}$', '5555', false],
    ['^(cat|dog)$', 'DOG', true],
    ['^[a-z]+$', 'Äa', false],
    ['\\Aab\\z', 'ab', true],
    ['^\\x41\\u0042$', 'ab', true],
    ['\\Aab\\Z', 'ab', true],
    ['^a\\\\Zb$', 'a\\Zb', true],
    ['(?<name>a)', 'a', true],
    ['\\bword', 'a word', true],
    ['^\\p{L}+$', 'Äa', true],
    ['', 'anything', true],
  ])('%s on %s: %s', (source, text, expected) => {
    expect(matches(source, text)).toBe(expected);
  });

  it.each(['(?=a)', '(?<!a)b', '(a)\\1', '(a', 'a)', '[a', '*a', 'a**', 'a{3,1}', '[z-a]', '\\', '(a{99}){99}'])(
    'refuses %s',
    (source) => {
      expect(matches(source, 'x')).toMatch(/cannot be used in a route/);
    },
  );

  it('comes to an end with patterns on which a backtracking engine does not', () => {
    for (const source of ['^(a+)+$', '^(a|a)*$', '^(a*)*b$', '(x+x+)+y', '^(a?){50}a{50}$'])
      expect(typeof matches(source, `${'a'.repeat(250)}!`)).toBe('boolean');
    expect(matches('a', 'a'.repeat(257))).toBe(false);
  });
});
