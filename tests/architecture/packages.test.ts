import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJson, root, workspaces, type Manifest } from './workspace.js';

interface Lockfile {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly version?: string;
        readonly resolved?: string;
        readonly link?: boolean;
        readonly hasInstallScript?: boolean;
        readonly cpu?: readonly string[];
        readonly os?: readonly string[];
        readonly libc?: readonly string[];
        readonly dev?: boolean;
        readonly optionalDependencies?: Readonly<Record<string, string>>;
        readonly engines?: Readonly<Record<string, string>>;
      }
    >
  >;
}

const lockfile = readJson<Lockfile>('package-lock.json');
const locked = Object.entries(lockfile.packages).filter(
  ([folder, { link }]) => folder.includes('node_modules/') && !link,
);
const nameOf = (folder: string): string => folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
const manifest = readJson<Manifest & { allowScripts: Record<string, boolean> }>('package.json');

describe('dependencies', () => {
  it('are pinned exactly', () => {
    const manifests = [manifest, ...workspaces().map((workspace) => workspace.manifest)];
    const versions = manifests.flatMap((m) =>
      Object.entries({ ...m.dependencies, ...m.devDependencies, ...m.optionalDependencies }),
    );
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it('exist for x64 Linux wherever they exist for arm64, and the other way round', () => {
    const native = locked.filter(([, { os, cpu }]) => os?.includes('linux') && cpu !== undefined);
    const names = new Set(native.map(([folder, { version }]) => `${nameOf(folder)}@${version}`));
    expect(names.size).toBeGreaterThan(4);
    const twin = (name: string): string =>
      name.includes('arm64') ? name.replace('arm64', 'x64') : name.replace('x64', 'arm64');
    // A family without any binary for the other one has never had a choice to make.
    const family = (name: string): string => name.slice(0, name.indexOf('linux-'));
    const other = (name: string): string => (name.includes('arm64') ? 'x64' : 'arm64');
    const relevant = [...names].filter(
      (name) =>
        /linux-(arm64|x64)/.test(name) &&
        [...names].some((sibling) => family(sibling) === family(name) && sibling.includes(other(name))),
    );
    expect(relevant.length).toBeGreaterThan(8);
    expect(relevant.filter((name) => !names.has(twin(name)))).toEqual([]);
  });

  it('are locked for every platform: npm ci refuses a lockfile in which one is missing', () => {
    const names = new Set(locked.map(([folder]) => nameOf(folder)));
    const wanted = locked.flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies));
    expect(wanted.filter((name) => !names.has(name))).toEqual([]);
  });

  it('run no install script that was not decided on', () => {
    const scripted = locked.filter(([, entry]) => entry.hasInstallScript).map(([folder]) => nameOf(folder));
    const linux = scripted.filter((name) => !/fsevents/.test(name));
    expect(linux.filter((name) => !(name in manifest.allowScripts))).toEqual([]);
  });

  it('name no registry in the lockfile', () => {
    expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it('of production say that they run on Node 20', () => {
    const refusing = locked
      .filter(
        ([, { dev, engines }]) =>
          !dev && /(^|[^|]\s*)>=\s*2[1-9]/.test(engines?.['node'] ?? '') && !/20/.test(engines?.['node'] ?? ''),
      )
      .map(([folder]) => nameOf(folder));
    expect(refusing).toEqual([]);
  });
});

describe('the repository', () => {
  it('has no install script of its own', () => {
    const scripts = [manifest, ...workspaces().map((workspace) => workspace.manifest)].flatMap((m) =>
      Object.keys(m.scripts ?? {}),
    );
    expect(scripts.filter((name) => /^(pre|post)?(install|prepare|prepublish)/.test(name))).toEqual([]);
  });

  it('calls in CI the test command of the README, word for word', () => {
    const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
    const [, , test = 'not found'] = /```sh\n(.+)\n```[\s\S]*?```sh\n(.+)\n```/.exec(readme) ?? [];
    expect(test).toMatch(/^npm /);
    expect(readFileSync(path.join(root, '.ci/run'), 'utf8')).toContain(test);
  });

  it('compiles strictly everywhere', () => {
    for (const { folder } of workspaces()) {
      expect(readJson<{ extends: string }>(`${folder}/tsconfig.json`).extends).toBe('../../tsconfig.base.json');
    }
    const { compilerOptions } = readJson<{ compilerOptions: Record<string, unknown> }>('tsconfig.base.json');
    expect(compilerOptions).toMatchObject({
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
    });
  });

  it('tracks no build output and no local state', () => {
    const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
    expect(tracked.filter((file) => /(^|\/)(dist|node_modules|\.drover)\//.test(file))).toEqual([]);
  });
});
