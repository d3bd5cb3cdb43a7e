import { describe, expect, it } from 'vitest';
import { parseIgnoreFile } from './ignore-patterns.js';

describe('patterns of .funcignore', () => {
  it.each([
    ['*.js.map', 'dist/index.js.map', true],
    ['*.js.map', 'dist/index.js', false],
    ['test', 'src/test', true],
    ['/test', 'src/test', false],
    ['/test', 'test', true],
    ['.git*', '.gitignore', true],
    ['node_modules/@types/', 'node_modules/@types', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/**/*.ts', 'src/deep/down/a.ts', true],
    ['src/**/*.ts', 'src/a.ts', true],
    ['logs/**', 'logs/deep/x', true],
    ['**/tmp', 'a/b/tmp', true],
    ['file?.txt', 'file1.txt', true],
    ['file?.txt', 'file.txt', false],
    ['file[0-9].txt', 'file7.txt', true],
    ['file[!0-9].txt', 'file7.txt', false],
    ['a.b', 'axb', false],
    ['file[z-a].txt', 'filez.txt', false],
    ['a**b', 'a/b', false],
    ['(x)+', '(x)+', true],
    ['\\#note', '#note', true],
    ['# note', '# note', false],
    ['', 'anything', false],
    ['trailing   ', 'trailing', true],
  ])('%s and %s: %s', (pattern, path, expected) => {
    expect(parseIgnoreFile(pattern)(path, true)).toBe(expected);
  });

  it('let the last one decide', () => {
    const isIgnored = parseIgnoreFile('*.ts\r\n!keep.ts\n');
    expect([isIgnored('a.ts', false), isIgnored('keep.ts', false)]).toEqual([true, false]);
  });

  it('with a slash at the end are for folders', () => {
    const isIgnored = parseIgnoreFile('build/');
    expect([isIgnored('build', true), isIgnored('build', false)]).toEqual([true, false]);
  });
});
