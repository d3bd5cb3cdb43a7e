import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root, workspaces } from '../architecture/workspace.js';
import { documents } from './documents.js';
import { missingPaths, namedPaths } from './named-paths.js';

const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

describe('documents made from the code', () => {
  it.each(Object.entries(documents))(
    '%s says what the code says (else: npm run docs)',
    (file, make) => {
      expect(read(file)).toBe(make());
      // The page on scaling simulates hours of load.
    },
    60_000,
  );
});

describe('documents', () => {
  // Also what is new and not committed yet; without what is deleted and not committed yet.
  const list = (...args: string[]): string[] =>
    execFileSync('git', ['ls-files', ...args], { cwd: root, encoding: 'utf8' })
      .split('\n')
      .filter(Boolean);
  const deleted = new Set(list('--deleted'));
  const files = list('--cached', '--others', '--exclude-standard').filter((file) => !deleted.has(file));
  const folders = workspaces().map(({ folder }) => folder);
  const markdown = files.filter((file) => file.endsWith('.md'));
  /** Pages that tell what was, and may name what is gone; their links have to work all the same. */
  const isHistory = (file: string): boolean => file === 'CHANGELOG.md' || file.startsWith('docs/decisions/');

  it.each(markdown)('%s names only files and folders that exist', (file) => {
    const named = namedPaths(file, read(file), folders);
    const missing = missingPaths(isHistory(file) ? named.filter(({ text }) => isLink(file, text)) : named, files);
    expect(missing, `${file} names paths that are not in the repository`).toEqual([]);
  });

  function isLink(file: string, target: string): boolean {
    return read(file).includes(`](${target}`);
  }
});

describe('the check for paths', () => {
  const files = ['docs/a.md', 'packages/kit/README.md', 'packages/kit/src/time/clock.ts', 'tests/e2e/up.test.ts'];
  const missing = (document: string, text: string): string[] =>
    missingPaths(namedPaths(document, text, ['packages/kit']), files);

  it('finds what is missing, in backticks and in links', () => {
    const text = '`packages/kit/src/clock.ts` `packages/gone/` `src/clock.ts` `sundial.ts` [a](b.md) `tests/e2e/down*`';
    expect(missing('docs/a.md', '`kit/clock` `kit/time`')).toEqual(['kit/clock']);
    expect(missing('packages/kit/README.md', text)).toEqual([
      'b.md',
      'packages/kit/src/clock.ts',
      'packages/gone/',
      'src/clock.ts',
      'sundial.ts',
      'tests/e2e/down*',
    ]);
  });

  it('accepts files, folders, patterns and bare names that exist, and leaves alone what is no path', () => {
    const text = [
      '`packages/kit/src/time` `packages/*/src` `kit/import` `src/time/` `src/time/clock` `clock.ts` `tests/e2e/up*.test.ts` [a](../../docs/a.md)',
      '`npm test` `/api/hello` `@drover/kit` `host.json` `application/json` [b](https://example.com)',
      '```',
      'packages/gone',
      '```',
    ];
    expect(missing('packages/kit/README.md', text.join('\n'))).toEqual([]);
  });
});
