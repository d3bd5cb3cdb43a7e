import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileBlobPattern, parseBlobPath, type BlobPattern } from './blob-path.js';

const pattern = (path: string): BlobPattern => {
  const compiled = compileBlobPattern(path);
  if ('problem' in compiled) throw new Error(compiled.problem);
  return compiled.value;
};

describe('the path of a blob trigger', () => {
  it.each([
    ['in/{name}', 'a/b.txt', { name: 'a/b.txt' }],
    ['in/{name}.{ext}', 'a.b.txt', { name: 'a.b', ext: 'txt' }],
    ['in/{name}.{ext}', 'none', undefined],
    ['in/{name}.txt', 'a.txt', { name: 'a' }],
    ['in/{name}.txt', 'a.txt.gz', undefined],
    ['in/{name}', '', { name: '' }],
    ['in/year-{year}/{name}', 'year-2030/x/y', { year: '2030/x', name: 'y' }],
    ['in/year-{year}/{name}', 'YEAR-2030/x', undefined],
    ['in/{a}{b}', 'xy', { a: 'xy', b: '' }],
    ['in/{a}-{b}-{c}', '1-2-3-4', { a: '1-2', b: '3', c: '4' }],
    ['in/{{2030}}-{name}', '{2030}-a', { name: 'a' }],
    ['in/fixed.txt', 'fixed.txt', {}],
    ['in/fixed.txt', 'fixed.txt2', undefined],
    ['in/(.*)[{x}]', '(.*)[1]', { x: '1' }],
    ['inbox', 'any/thing', {}],
    ['in/aa{x}aa', 'aaa', undefined],
    ['in/{n}', 'line\nbreak', { n: 'line\nbreak' }],
  ])('%s and %s', (path, name, captures) => {
    expect(pattern(path.replace(/^in\//, 'box/')).match(name)).toEqual(captures);
  });

  it('captures what greedy groups of a regular expression capture, for any name', () => {
    const literal = fc.stringMatching(/^[ab.]{0,2}$/);
    fc.assert(
      fc.property(
        fc.array(literal, { minLength: 2, maxLength: 4 }),
        fc.stringMatching(/^[ab.]{0,9}$/),
        (literals, name) => {
          const path = literals.map((text, index) => (index === 0 ? text : `{c${index}}${text}`)).join('');
          const groups = literals.map(
            (text, index) => `${index === 0 ? '' : `(?<c${index}>.*)`}${text.replaceAll('.', '\\.')}`,
          );
          const expected = new RegExp(`^${groups.join('')}$`, 's').exec(name)?.groups;
          expect(pattern(`box/${path}`).match(name)).toEqual(expected && { ...expected });
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('takes linear time for a name that almost matches', () => {
    const many = pattern(`box/${Array.from({ length: 20 }, (_, n) => `{c${n}}a`).join('')}b`);
    expect(many.match('a'.repeat(1_024))).toBeUndefined();
  });

  it('knows the text that all matching names begin with, so that less is listed', () => {
    expect(pattern('box/in/2030/{name}.txt').prefix).toBe('in/2030/');
    expect(pattern('box/{name}').prefix).toBe('');
    expect(pattern('box/whole.txt').prefix).toBe('whole.txt');
    expect(pattern('Box').container).toBe('box');
  });

  it.each([
    ['', 'must be "container/blob"'],
    ['/name', 'must be "container/blob"'],
    ['box/', 'must be "container/blob"'],
    ['{box}/name', 'must have a fixed container'],
    ['b/name', 'must name a container'],
    ['bo--x/name', 'must name a container'],
    ['box/{name', 'has a brace without its counterpart at 0'],
    ['box/name}', 'has a brace without its counterpart at 4'],
    ['box/{}', 'has {}, and a capture is a name'],
    ['box/{a.b}', 'has {a.b}, and a capture is a name'],
    ['box/{rand-guid}', 'has {rand-guid}, and a capture is a name'],
  ])('is refused: %s', (path, problem) => {
    expect(compileBlobPattern(path)).toEqual({ problem: expect.stringContaining(problem) });
  });
});

describe('the path of a blob input or output', () => {
  const endpoint = 'http://127.0.0.1:10000/devstoreaccount1';
  it.each([
    ['Box/a/b.txt', { container: 'box', name: 'a/b.txt' }],
    ['https://shop.blob.core.windows.net/box/a%20b/c.txt?sv=1', { container: 'box', name: 'a b/c.txt' }],
    [`${endpoint}/box/a.txt`, { container: 'box', name: 'a.txt' }],
    ['$web/index.html', { container: '$web', name: 'index.html' }],
  ])('%s', (path, value) => {
    expect(parseBlobPath(path, endpoint)).toEqual({ value });
  });

  it.each([
    'box',
    'box/',
    '/a',
    'x/a',
    'http://',
    'https://host/box',
    `box/${'a'.repeat(1_025)}`,
    'https://host/box/%E0%A4%A',
  ])('is refused: %s', (path) => {
    expect(parseBlobPath(path, endpoint)).toEqual({ problem: expect.stringMatching(/^(must|has)/) });
  });
});
