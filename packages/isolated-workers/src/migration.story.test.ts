import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const own = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));
const root = own('../../');
const page = readFileSync(own('docs/migration.md'), 'utf8');
const run = promisify(execFile);

/** One change of the page, and the programs that have the text it replaces. */
interface Rename {
  readonly before: string;
  readonly after: string;
  readonly usedBy: Set<string>;
}

/** The changes of the page: those of more than a name first, as they are written with the names of 0.2. */
function renames(): Rename[] {
  const pairs = page.matchAll(/^Before:\n\n```ts\n([^]*?)```\n\nAfter:\n\n```ts\n([^]*?)```$/gm);
  const [, section = ''] = page.split(/^## Names$/m);
  const [names = ''] = section.split(/^## /m);
  const rows = names.matchAll(/^\| `(.+?)` \| `(.+?)` \|$/gm);
  return [...pairs, ...rows].map(([, before = '', after = '']) => ({
    before: before.replace(/\n$/, ''),
    after: after.replace(/\n$/, ''),
    usedBy: new Set(),
  }));
}

const changes = renames();
const examples = readdirSync(own('fixtures/migration'));
const folder = mkdtempSync(path.join(tmpdir(), 'drover-migration-'));

/** Applies the page to a file of a program. */
function migrated(example: string, text: string): string {
  return changes.reduce((source, { before, after, usedBy }) => {
    if (source.includes(before)) usedBy.add(example);
    return source.replaceAll(before, after);
  }, text);
}

beforeAll(async () => {
  mkdirSync(path.join(folder, 'node_modules/@drover'), { recursive: true });
  symlinkSync(own('.'), path.join(folder, 'node_modules/@drover/isolated-workers'));
  cpSync(own('fixtures/migration'), folder, { recursive: true });
  const programs = examples.flatMap((example) =>
    readdirSync(path.join(folder, example))
      .filter((file) => file.endsWith('.mts'))
      .map((file) => ({ example, file: path.join(folder, example, file) })),
  );
  for (const { example, file } of programs) writeFileSync(file, migrated(example, readFileSync(file, 'utf8')));
  await build({
    entryPoints: programs.map(({ file }) => file),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    format: 'esm',
    logLevel: 'silent',
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a program for isolated-workers 0.2, changed as the page on migration says', () => {
  it('is there for each of the nine examples', () => {
    expect(examples).toHaveLength(9);
  });

  it.concurrent.each(examples)('does the same: %s', async (example) => {
    const { stdout } = await run(process.execPath, ['host.mjs'], { cwd: path.join(folder, example) });
    expect(stdout).toBe(readFileSync(path.join(folder, example, 'output.txt'), 'utf8'));
  });

  it('compiles, with all checks of the compiler', async () => {
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      strict: true,
      noEmit: true,
      types: ['node'],
      typeRoots: [path.join(root, 'node_modules/@types')],
    };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*/*.mts'] }));
    const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
    const compiled = run(process.execPath, [compiler, '-p', folder], { cwd: folder });
    expect(await compiled.then(({ stdout }) => stdout).catch((error: { stdout: string }) => error.stdout)).toBe('');
  });

  it('needs every change that the page lists', () => {
    expect(changes.length).toBeGreaterThan(12);
    expect(changes.filter(({ usedBy }) => usedBy.size === 0).map(({ before }) => before)).toEqual([]);
  });
});
