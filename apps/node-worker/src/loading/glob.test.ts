import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { findFiles, hasWildcards } from './glob.js';

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
    'lib/a.b+c$(d).js',
    'lib/axb',
    'lib/abab.js',
    'lib/{only}.js',
    'lib/open{brace',
    'lib/acd',
    'lib/ace',
    'lib/ab',
    'lib/a',
  ];

  it.each([
    ['index.js', ['index.js']],
    ['./index.js', ['index.js']],
    ['src/functions/*.js', ['src/functions/a.js']],
    ['src/{index.mjs,functions/*.js}', ['src/functions/a.js', 'src/index.mjs']],
    ['src/**/*.js', ['src/[id].js', 'src/functions/a.js', 'src/functions/deep/c.js']],
    ['src/functions/**', ['src/functions/a.js', 'src/functions/b.ts', 'src/functions/deep/c.js']],
    [
      '**/*.js',
      [
        'index.js',
        'lib/a.b+c$(d).js',
        'lib/abab.js',
        'lib/{only}.js',
        'src/[id].js',
        'src/functions/a.js',
        'src/functions/deep/c.js',
      ],
    ],
    ['src/functions/?.@(js|ts)', ['src/functions/a.js', 'src/functions/b.ts']],
    ['src/functions/[ab].*', ['src/functions/a.js', 'src/functions/b.ts']],
    ['src/functions/[!a].*', ['src/functions/b.ts']],
    ['src/functions/.*.js', ['src/functions/.hidden.js']],
    ['lib/a{b,c{d,e}}', ['lib/ab', 'lib/acd', 'lib/ace']],
    ['lib/a{b,}', ['lib/a', 'lib/ab']],
    ['lib/{only}.js', ['lib/{only}.js']],
    ['lib/open{brace', ['lib/open{brace']],
    ['lib/a.b+c$(d).j?', ['lib/a.b+c$(d).js']],
    ['lib/a.?', []],
    ['lib/+(ab).js', ['lib/abab.js']],
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
});
