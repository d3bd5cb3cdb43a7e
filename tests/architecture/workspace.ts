import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository, found from this file whether it runs as source or compiled. */
export const root = findRoot(path.dirname(fileURLToPath(import.meta.url)));

function findRoot(directory: string): string {
  const manifest = path.join(directory, 'package-lock.json');
  return readable(manifest) ? directory : findRoot(path.dirname(directory));
}

function readable(file: string): boolean {
  try {
    readFileSync(file);
    return true;
  } catch {
    return false;
  }
}

export interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

export interface Workspace {
  /** `packages/contracts` */
  readonly folder: string;
  readonly manifest: Manifest;
  readonly files: readonly SourceFile[];
}

export interface SourceFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
  /** Tests, what only tests use, and code generators: they may import development dependencies. */
  readonly forTests: boolean;
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- says at the call what file is read
export function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8')) as T;
}

/** Every package and app, with its sources. */
export function workspaces(): Workspace[] {
  return ['packages', 'apps'].flatMap((group) =>
    readdirSync(path.join(root, group)).flatMap((name) => {
      const folder = `${group}/${name}`;
      // A package that was renamed leaves its build output behind in a checkout that is not new.
      if (!readable(path.join(root, folder, 'package.json'))) return [];
      return [{ folder, manifest: readJson<Manifest>(`${folder}/package.json`), files: sourceFiles(folder) }];
    }),
  );
}

export function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => !/(^|\/)(dist|node_modules)\//.test(file))
    .map((file) => {
      const text = readFileSync(path.join(root, file), 'utf8');
      return { path: file, text, imports: importsOf(text), forTests: isForTests(file) };
    });
}

/** Tests, what only tests use, and programs that write sources. */
export function isForTests(file: string): boolean {
  return /\.test(\.fixture)?\.ts$|\/(testing|test|generator)\//.test(file);
}

function importsOf(text: string): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
  const pattern = /(?:^|\s)(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;
  return [...code.matchAll(pattern)].flatMap(([, fixed, dynamic]) => fixed ?? dynamic ?? []);
}
