import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { commandBlocks, isShown, problemOf } from './command-blocks.js';

const read = (file: string): string | undefined => {
  const absolute = path.join(root, file);
  return existsSync(absolute) ? readFileSync(absolute, 'utf8') : undefined;
};

describe('command blocks of documents', () => {
  const documents = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    // Pages that tell what was are not instructions.
    .filter((file) => file !== '' && file !== 'CHANGELOG.md' && !file.startsWith('docs/decisions/'));

  it('are run by a test, or say why not with a reason that holds', () => {
    const blocks = documents.flatMap((document) => commandBlocks(document, read(document) ?? ''));
    expect(blocks.length).toBeGreaterThan(15);
    expect(blocks.flatMap((block) => problemOf(block, read) ?? [])).toEqual([]);
  });
});

describe('commandBlocks', () => {
  const text = [
    '# Title',
    '```sh',
    'npm start',
    '```',
    '',
    '```json',
    '{ "a": "…" }',
    '```',
    '<!-- not run: it measures for minutes -->',
    '```sh',
    'npm run bench:all',
    '```',
    '```',
    'npx drover up',
    '```',
    '```',
    'a picture',
    '```',
    '',
  ].join('\n');

  it('finds blocks with their marks and what they print, also those without a language', () => {
    expect(commandBlocks('a.md', text)).toEqual([
      { document: 'a.md', line: 2, commands: 'npm start\n', prints: { a: '…' }, mark: { kind: 'run here' } },
      {
        document: 'a.md',
        line: 9,
        commands: 'npm run bench:all\n',
        prints: undefined,
        mark: { kind: 'not run', reason: 'it measures for minutes' },
      },
      { document: 'a.md', line: 13, commands: 'npx drover up\n', prints: undefined, mark: { kind: 'run here' } },
    ]);
  });

  it('refuses marks that do not hold', () => {
    const problems = (mark: string, commands: string, document = 'README.md'): string | undefined => {
      const [block] = commandBlocks(document, `<!-- ${mark} -->\n\`\`\`sh\n${commands}\n\`\`\`\n`);
      return block && problemOf(block, (file) => (file === 'tests/a.test.ts' ? 'reads README.md' : undefined));
    };
    expect(problems('not run: no time', 'npm test')).toContain('is not a reason');
    expect(problems('not run: it measures for minutes', 'npm test')).toContain('is not true of this block');
    expect(problems('run by tests/gone.test.ts', 'npm test')).toContain('does not read README.md');
    expect(problems('run by tests/a.test.ts', 'npm test')).toBeUndefined();
    expect(problems('a remark', 'npm start', 'docs/other.md')).toContain('is run by no test');
  });
});

describe('isShown', () => {
  it('compares what the document shows, and lets the rest be', () => {
    expect(isShown({ id: '…', n: [1, { a: null }] }, { id: 'x', n: [1, { a: null, b: 2 }], more: true })).toBe(true);
    expect(isShown({ id: '…' }, { id: 7 })).toBe(false);
    expect(isShown({ id: 'x' }, {})).toBe(false);
    expect(isShown({ status: 'success' }, { status: 'error' })).toBe(false);
  });
});
