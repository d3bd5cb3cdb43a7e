import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { documents } from './documents.js';

describe('documents made from the code', () => {
  it.each(Object.entries(documents))('%s says what the code says (else: npm run docs)', (file, make) => {
    expect(readFileSync(path.join(root, file), 'utf8')).toBe(make());
  });
});

describe('documents', () => {
  const markdown = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
    .concat(readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((file) => `docs/${file}`))
    .concat(
      ['packages', 'apps'].flatMap((group) =>
        readdirSync(path.join(root, group)).map((name) => `${group}/${name}/README.md`),
      ),
    )
    .filter((file) => file.endsWith('.md'));

  it.each(markdown)('%s links only to what exists', (file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    const links = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].flatMap(([, target]) => target ?? []);
    const broken = links.filter(
      (link) => !/^https?:/.test(link) && !existsSync(path.join(root, path.dirname(file), link)),
    );
    expect(broken).toEqual([]);
  });
});
