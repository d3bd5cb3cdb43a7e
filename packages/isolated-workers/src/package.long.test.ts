import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// Does what packages/isolated-workers/README.md says to a new user: makes the tarball, installs it in an empty project, and
// runs the quick start there.

const root = fileURLToPath(new URL('../../../', import.meta.url));
const readme = readFileSync(path.join(root, 'packages/isolated-workers/README.md'), 'utf8');
const run = promisify(execFile);

/** The checkout and the project of the README, side by side. */
const folder = mkdtempSync(path.join(tmpdir(), 'drover-package-'));
const checkout = path.join(folder, 'drover');
const project = path.join(folder, 'project');
const installed = path.join(project, 'node_modules/@drover/isolated-workers');

/** As a user's shell has it, but npm asks no registry and shares no files with other runs. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:npm_|node_options$|vitest)/i.test(name))),
  npm_config_offline: 'true',
  npm_config_cache: path.join(folder, 'cache'),
  npm_config_pack_destination: checkout,
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
};

/** Returns the blocks of the quick start in a language, in their order. */
function blocks(language: string): string[] {
  const [, section = ''] = readme.split(/^## Quick start$/m);
  const [quickStart = ''] = section.split(/^## /m);
  return [...quickStart.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(([, body = '']) => body);
}

/** Returns the block that follows a line such as "`worker.mjs`, the worker:". */
function fileOf(name: string): string {
  const [, body] = new RegExp(`^\`${name}\`, the \\w+:\n\n\`\`\`js\n([^]*?)^\`\`\`$`, 'm').exec(readme) ?? [];
  if (body === undefined) throw new Error(`README.md does not show ${name}`);
  return body;
}

const node = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
  run(process.execPath, args, { cwd: project, env });

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)));

beforeAll(async () => {
  const [pack = '', install = ''] = blocks('sh');
  for (const directory of [checkout, project]) mkdirSync(directory);
  await run('/bin/sh', ['-ec', pack], { cwd: root, env });
  await run('/bin/sh', ['-ec', install], { cwd: project, env });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the package, installed from its tarball into an empty project without a network', () => {
  it('runs the quick start of the README as it stands there', async () => {
    for (const name of ['worker.mjs', 'host.mjs']) writeFileSync(path.join(project, name), fileOf(name));
    const [, , start = ''] = blocks('sh');
    const { stdout } = await run('/bin/sh', ['-ec', start], { cwd: project, env });
    expect(stdout).toBe(blocks('text')[0]);
  });

  it('has its licence and documents, and neither tests nor source maps nor names of them', () => {
    const files = filesBelow(installed);
    expect(files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'docs/api.md', 'docs/migration.md', 'dist/bundle/worker.js']),
    );
    expect(files.filter((file) => /\.test\.|\.map$|tsbuildinfo|^(?:src|fixtures)\//.test(file))).toEqual([]);
    const scripts = files.filter((file) => file.endsWith('.js') || file.endsWith('.d.ts'));
    const mapped = scripts.filter((file) => readFileSync(path.join(installed, file), 'utf8').includes('sourceMapping'));
    expect(mapped).toEqual([]);
  });

  it('says which Node it needs, that it depends on nothing, and that its modules do nothing by themselves', () => {
    const manifest: unknown = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ license: 'MIT', dependencies: {}, sideEffects: false });
    const own = readFileSync(path.join(root, 'package.json'), 'utf8');
    expect(manifest).toHaveProperty('engines', (JSON.parse(own) as { engines: unknown }).engines);
  });

  it('gives the same functions to import and to require, at every entry point and without a warning', async () => {
    const { exports } = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8')) as {
      exports: Record<string, unknown>;
    };
    const names = Object.keys(exports).map((entry) => path.posix.join('@drover/isolated-workers', entry));
    writeFileSync(
      path.join(project, 'entries.cjs'),
      `const names = ${JSON.stringify(names)};
      (async () => {
        for (const name of names) {
          const [required, imported] = [require(name), await import(name)];
          const keys = Object.keys(imported);
          console.log(name, keys.length > 0 && keys.every((key) => required[key] === imported[key]));
        }
      })();`,
    );
    const { stdout, stderr } = await node('entries.cjs');
    expect(stdout.trim().split('\n')).toEqual(names.map((name) => `${name} true`));
    expect(stderr).toBe('');
  });

  it('has types for ES modules and CommonJS that hold without skipLibCheck', async () => {
    const program = path.join(root, 'packages/isolated-workers/fixtures/typed-program.mts');
    for (const extension of ['mts', 'cts']) copyFileSync(program, path.join(project, `typed.${extension}`));
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      types: ['node'],
      typeRoots: [path.join(root, 'node_modules/@types')],
    };
    writeFileSync(
      path.join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['typed.mts', 'typed.cts'] }),
    );
    const compiled = node(path.join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json');
    expect(await compiled.then(({ stdout }) => stdout).catch((error: { stdout: string }) => error.stdout)).toBe('');
  });
});
