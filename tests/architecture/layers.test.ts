import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJson, workspaces, type SourceFile, type Workspace } from './workspace.js';

/** Imports point down, never sideways within a row, never up. */
const layers: Readonly<Record<string, number>> = {
  'apps/cli': 6,
  'apps/control-plane': 5,
  'apps/scale-controller': 5,
  'apps/runtime': 5,
  'apps/node-worker': 5,
  'apps/worker-agent': 5,
  'apps/collection-worker': 5,
  'apps/gateway': 5,
  'apps/console': 5,
  'packages/application-catalog': 4,
  'packages/trigger-sources': 4,
  'packages/instance-provider': 4,
  'packages/collection-engine': 4,
  'packages/dispatchers': 4,
  'packages/execution-store': 4,
  'packages/event-bus': 3,
  'packages/ownership': 3,
  'packages/scale-link': 3,
  'packages/database': 2,
  'packages/http-edge': 2,
  'packages/function-rpc': 2,
  'packages/service-kit': 1,
  'packages/contracts': 0,
  'packages/isolated-workers': 0,
  'packages/azure-emulators': 0,
  'packages/testkit': 0,
};

const all = workspaces();
const byName = new Map(all.map((workspace) => [workspace.manifest.name, workspace]));

/** Bare package name of an import, and what is asked of it. */
function splitImport(specifier: string): { readonly name: string; readonly subpath: string } {
  const parts = specifier.split('/');
  const length = specifier.startsWith('@') ? 2 : 1;
  return { name: parts.slice(0, length).join('/'), subpath: parts.slice(length).join('/') };
}

function problemsOf(workspace: Workspace, file: SourceFile): string[] {
  return file.imports.flatMap((specifier) => {
    const where = `${file.path} imports ${specifier}`;
    if (specifier.startsWith('node:')) {
      return workspace.folder === 'packages/contracts' && !file.forTests
        ? [`${where}: contracts must run in a browser`]
        : [];
    }
    if (specifier.startsWith('.'))
      return relativeProblems(workspace, file, specifier).map((problem) => `${where}: ${problem}`);
    return packageProblems(workspace, file, specifier).map((problem) => `${where}: ${problem}`);
  });
}

function relativeProblems(workspace: Workspace, file: SourceFile, specifier: string): string[] {
  const target = path.join(path.dirname(file.path), specifier);
  const problems: string[] = [];
  if (!target.startsWith(`${workspace.folder}/`)) problems.push('it leaves its package');
  if (!specifier.endsWith('.js')) problems.push('relative imports end in .js');
  if (!file.forTests && target === `${workspace.folder}/src/index.js`)
    problems.push('files do not import their own index');
  return problems;
}

function packageProblems(workspace: Workspace, file: SourceFile, specifier: string): string[] {
  const { name, subpath } = splitImport(specifier);
  const { manifest, folder } = workspace;
  const problems: string[] = [];
  const declared = { ...manifest.dependencies, ...(file.forTests && { ...manifest.devDependencies, ...rootTools }) };
  if (!(name in declared)) problems.push('it is not declared in package.json');
  const target = byName.get(name);
  if (!target) return problems;
  if (subpath !== '' && subpath !== 'testing') problems.push('deep import');
  if (subpath === 'testing' && !file.forTests) problems.push('only tests use what is for testing');
  if (target.folder === 'packages/testkit') return file.forTests ? problems : [...problems, 'only tests use testkit'];
  if ((layers[target.folder] ?? 99) >= (layers[folder] ?? -1)) problems.push('imports point down');
  return problems;
}

const rootTools = readJson<{ devDependencies: Record<string, string> }>('package.json').devDependencies;

describe('the layers', () => {
  it('know every package', () => {
    expect(all.map(({ folder }) => folder).filter((folder) => !(folder in layers))).toEqual([]);
  });

  it('see imports at all: the check finds the ones that are there', () => {
    const found = new Set(all.flatMap(({ files }) => files.flatMap(({ imports }) => imports)));
    expect(found).toContain('@drover/service-kit');
    expect(found).toContain('node:child_process');
    expect(found).toContain('./lifecycle.js');
  });

  it.each(all.map((workspace) => [workspace.folder, workspace] as const))('hold in %s', (_, workspace) => {
    expect(workspace.files.flatMap((file) => problemsOf(workspace, file))).toEqual([]);
  });

  it.each(all.map((workspace) => [workspace.folder, workspace] as const))(
    'are known to the compiler: %s references exactly the packages it declares',
    (_, { folder, manifest }) => {
      const { references = [] } = readJson<{ references?: { path: string }[] }>(`${folder}/tsconfig.json`);
      const referenced = references.map((reference) => path.join(folder, reference.path)).toSorted();
      const declared = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
        .flatMap((name) => byName.get(name)?.folder ?? [])
        .toSorted();
      expect(referenced).toEqual(declared);
    },
  );

  it('would refuse an upward, a sideways, a deep, an undeclared and an escaping import', () => {
    const database = byName.get('@drover/database');
    if (!database) return expect.unreachable();
    const bad = [
      '@drover/event-bus',
      '@drover/database',
      '@drover/contracts/dist/ids.js',
      'left-pad',
      '../../service-kit/src/secret.js',
    ];
    const file: SourceFile = { path: 'packages/database/src/made-up.ts', text: '', imports: bad, forTests: false };
    const problems = problemsOf(database, file);
    for (const specifier of bad) expect(problems.join('\n')).toContain(specifier);
  });
});

describe('house rules', () => {
  // isolated-workers stands alone: it runs in processes that others have begun.
  const sources = all
    .filter(({ folder }) => folder !== 'packages/isolated-workers')
    .flatMap(({ files }) => files)
    .filter(({ forTests }) => !forTests);
  const using = (pattern: RegExp): string[] =>
    sources.filter(({ text }) => pattern.test(text)).map((file) => file.path);

  it('read the environment only where a process begins', () => {
    expect(using(/process\.env\b/)).toEqual([]);
  });

  it('end the process and catch signals only in runProcess', () => {
    expect(using(/process\.exit\(|process\.on\('SIG/)).toEqual([]);
  });

  it('keep files small, or say at their top why they are whole', () => {
    const long = sources.filter(({ text }) => text.split('\n').length > 400).map((file) => file.path);
    expect(long).toEqual([]);
  });

  it('re-export by name: an index has no logic and no star', () => {
    const indexes = sources.filter((file) => /src\/(testing\/)?index\.ts$/.test(file.path));
    expect(
      indexes.filter(({ text }) => /export \*|=>|\bfunction\*? |\bclass |\bconst /.test(text)).map((file) => file.path),
    ).toEqual([]);
  });
});
