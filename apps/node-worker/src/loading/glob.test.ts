import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { expandBraces, findFiles, hasWildcards, segmentPattern } from './glob.js';

describe('findFiles', () => {
  const files = [
    'index.js',
    'index.js.map',
    'src/index.mjs',
    'src/functions/a.js',
    'src/functions/b.ts',
    'src/functions/deep/c.js',
    'src/functions/.hidden.js',
    'src/.secret/d.js',
    'node_modules/pkg/e.js',
    'src/[id].js',
  ];

  it.each([
    ['index.js', ['index.js']],
    ['./index.js', ['index.js']],
    ['src/functions/*.js', ['src/functions/a.js']],
    ['src/{index.mjs,functions/*.js}', ['src/functions/a.js', 'src/index.mjs']],
    ['src/**/*.js', ['src/[id].js', 'src/functions/a.js', 'src/functions/deep/c.js']],
    ['src/functions/**', ['src/functions/a.js', 'src/functions/b.ts', 'src/functions/deep/c.js']],
    ['**/*.js', ['index.js', 'src/[id].js', 'src/functions/a.js', 'src/functions/deep/c.js']],
    ['src/functions/?.@(js|ts)', ['src/functions/a.js', 'src/functions/b.ts']],
    ['src/functions/[ab].*', ['src/functions/a.js', 'src/functions/b.ts']],
    ['src/functions/[!a].*', ['src/functions/b.ts']],
    ['src/functions/.*.js', ['src/functions/.hidden.js']],
    ['*/functions', []],
    ['dist/**/*.js', []],
    ['index.js/*.js', []],
  ])('finds what %s names', async (pattern, expected) => {
    await withScratchDirectory((directory) => {
      for (const file of files) {
        mkdirSync(path.join(directory, path.dirname(file)), { recursive: true });
        writeFileSync(path.join(directory, file), '');
      }
      expect(findFiles(pattern, directory)).toEqual(expected);
      return Promise.resolve();
    });
  });

  it('follows links to files, and does not run in circles', async () => {
    await withScratchDirectory((directory) => {
      writeFileSync(path.join(directory, 'real.js'), '');
      symlinkSync('real.js', path.join(directory, 'linked.js'));
      symlinkSync('.', path.join(directory, 'circle'));
      expect(findFiles('**/*.js', directory)).toEqual(['linked.js', 'real.js']);
      return Promise.resolve();
    });
  });
});

describe('patterns', () => {
  it('expand their braces, also nested ones', () => {
    expect(expandBraces('a{b,c{d,e}}f')).toEqual(['abf', 'acdf', 'acef']);
    expect(expandBraces('a{b,}')).toEqual(['ab', 'a']);
    expect(expandBraces('{only}.js')).toEqual(['{only}.js']);
    expect(expandBraces('open{brace')).toEqual(['open{brace']);
  });

  it('are distinguished from paths', () => {
    expect(['a/b.js', 'a-b_c.js', '(a).js'].map(hasWildcards)).toEqual([false, false, false]);
    expect(['*.js', 'a?', '{a,b}', '[ab]', '@(a|b)', '+(a)'].map(hasWildcards)).toEqual([
      true,
      true,
      true,
      true,
      true,
      true,
    ]);
  });

  it('take characters of regular expressions as they are', () => {
    expect(segmentPattern('a.b+c$(d).js').test('a.b+c$(d).js')).toBe(true);
    expect(segmentPattern('a.b').test('axb')).toBe(false);
    expect(segmentPattern('+(ab).js').test('abab.js')).toBe(true);
  });
});
