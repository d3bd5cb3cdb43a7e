import { describe, expect, it } from 'vitest';
import { compileFieldPattern } from './compile-field-pattern.js';

function matches(pattern: string, text: string): boolean {
  const compiled = compileFieldPattern(pattern);
  if ('problem' in compiled) throw new Error(compiled.problem);
  return compiled.matches(text);
}

describe('a pattern', () => {
  const patterns = [
    'abc',
    'a|bc|',
    '(a|b)*c',
    'a{2,3}',
    'a{2}',
    'a{2,}b?',
    '[a-c]+',
    '[^a-c]',
    '\\d+\\.\\d{2}',
    '[\\w.-]+',
    '\\S \\D\\W',
    '.',
    '(?:ab)+?',
    '(?<x>a)b',
    '^a$',
    '^$|a$b?',
    '(^|a)b$',
    '$^',
    '(a|b)*a(a|b){9}',
    'a^b',
    '[\\]\\\\-]',
    '[-a]',
    '[a-]',
    '\\u0041\\x42',
    '\\u{1F600}',
    '[^\\S]',
    '\\p{Lu}+',
    '(a*)*b',
    '(a|a)*b',
    '[\\u00e0-\\u00ff]*',
    '\\/\\+',
    '(|a)+',
  ];
  const texts = [
    '',
    'a',
    'b',
    'aa',
    'aaa',
    'aaaa',
    'ab',
    'abab',
    'abc',
    'bc',
    'aab',
    '12.50',
    'x.y-z',
    '\n',
    ' ',
    'AB',
    '😀',
    'é',
    ']',
    '-',
    '\\',
    '/+',
    'a b!',
    'ÀB',
  ];

  it('matches the texts that RegExp matches from start to end', () => {
    for (const pattern of patterns) {
      const whole = new RegExp(`^(?:${pattern})$`, 'u');
      for (const text of texts)
        expect(`${pattern} ${text} ${matches(pattern, text)}`).toBe(`${pattern} ${text} ${whole.test(text)}`);
    }
  });

  it('matches with more positions than it remembers', () => {
    const text = Array.from({ length: 3_000 }, (_, index) => 'ab'[((index * index * 7) % 11) % 2]).join('');
    const whole = /^(?:(?:a|b)*a(?:a|b){9})$/;
    const lengths = Array.from({ length: 60 }, (_, index) => 10 + index * 49);
    expect(lengths.map((length) => matches('(a|b)*a(a|b){9}', text.slice(0, length)))).toEqual(
      lengths.map((length) => whole.test(text.slice(0, length))),
    );
  });

  it('takes time in proportion to the text where backtracking would take for ever', () => {
    const text = 'a'.repeat(10_000);
    expect(matches('(a+)+b', text)).toBe(false);
    expect(matches('(a|a)*b', text)).toBe(false);
    expect(matches('(a*)*(a*)*(a*)*', text)).toBe(true);
  });

  it.each([
    ['(a', '"(" has no ")"'],
    ['a)', '")" has no "("'],
    ['[a', '"[" has no "]"'],
    ['[]', 'contains no character'],
    ['*a', 'nothing to repeat'],
    ['a**', 'follows a repetition'],
    ['a{1', 'must be written'],
    ['a{3,2}', 'wrong order'],
    ['a{256}', 'counts to 255'],
    ['((a{200}){200})', 'too large'],
    ['(?=a)', 'look-around'],
    ['(?i)a', 'flags'],
    ['\\1', 'not supported'],
    ['\\b', 'not supported'],
    ['a\\', 'not supported'],
    ['[b-a]', 'bounds of a range'],
    ['\\p{Nope}', 'not a property'],
    ['\\ud800', 'number of a character'],
    ['('.repeat(60) + ')'.repeat(60), 'nested deeper'],
  ])('refuses %s', (pattern, problem) => {
    expect(compileFieldPattern(pattern)).toEqual({ problem: expect.stringContaining(problem) });
  });
});
