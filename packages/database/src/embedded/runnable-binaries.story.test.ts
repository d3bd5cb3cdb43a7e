import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Leash, systemRandomness } from '@drover/service-kit';
import { beforeEach, describe, expect, it } from 'vitest';
import { findBinaries, type Binaries } from './binaries.js';
import { checkVersion, createCluster } from './cluster.js';
import { missingLinks, parseLinks } from './library-links.js';
import type { EmbeddedPostgresObservation } from './observations.js';
import { removeOldCopies, runnableBinaries } from './runnable-binaries.js';
import { chooseServerUser, readUsers, spawnAs, type ServerUser } from './server-user.js';
import { asRoot, patience, withOpenDirectory } from './testing/trial.js';

const run = promisify(execFile);
const installed = findBinaries();
const observed: EmbeddedPostgresObservation[] = [];

/** The installed package as npm leaves it when install scripts are blocked, and a base for copies. */
async function withUnlinked(use: (binaries: Binaries, base: string) => Promise<void>): Promise<void> {
  await withOpenDirectory(async (scratch) => {
    const root = path.join(scratch, 'package', 'native');
    const base = path.join(scratch, 'base');
    await mkdir(base, { mode: 0o711 });
    await cp(installed.root, root, { recursive: true, verbatimSymlinks: true });
    for (const name of await readdir(path.join(root, 'lib'))) {
      const file = path.join(root, 'lib', name);
      if ((await lstat(file)).isSymbolicLink()) await rm(file);
    }
    await use({ ...installed, root }, base);
  });
}

const prepare = (binaries: Binaries, base: string, user?: ServerUser): Promise<string> =>
  runnableBinaries({ binaries, base, user, randomness: systemRandomness, observe: (o) => void observed.push(o) });

/** A whole database, made by the programs of that copy. */
async function createFrom(root: string, base: string): Promise<void> {
  const user = asRoot ? chooseServerUser(await readUsers(), undefined) : undefined;
  const location = { directory: base, base, cluster: path.join(base, 'cluster'), user };
  const leash = new Leash();
  const io = { leash, randomness: systemRandomness, signal: patience };
  await createCluster({ location, binaries: root, password: 'a password', ...io });
  await leash.stop();
  await checkVersion(location, installed.major);
}

async function versionFrom(root: string, user?: ServerUser): Promise<string> {
  const options = { ...spawnAs(user), cwd: '/', env: {} };
  return (await run(path.join(root, 'bin', 'initdb'), ['--version'], options)).stdout.trim();
}

describe('runnable binaries', () => {
  beforeEach(() => void observed.splice(0));

  it('are the installed ones where nothing is wrong', async () => {
    await withOpenDirectory(async (base) => {
      expect(await prepare(installed, base)).toBe(installed.root);
      expect(await readdir(base)).toEqual([]);
    });
  });

  it('get their library links in place when the install script was blocked', async () => {
    await withUnlinked(async (binaries, base) => {
      expect((await missingLinks(binaries.root)).length).toBeGreaterThan(0);
      const root = await prepare(binaries, base);
      expect(root).toBe(binaries.root);
      expect(await missingLinks(root)).toEqual([]);
      expect(await versionFrom(root)).toBe(`initdb (PostgreSQL) ${installed.version}`);
      expect(observed).toEqual([]);
    });
  });

  it('are copied, once, where links are missing and the package cannot be written', async (context) => {
    await withUnlinked(async (binaries, base) => {
      const lib = path.join(binaries.root, 'lib');
      await chmod(lib, 0o555);
      if (asRoot) {
        // Root writes whatever the mode says; only the file system itself can refuse.
        try {
          await run('mount', ['--bind', lib, lib]);
        } catch {
          return context.skip('this machine does not let us mount a file system');
        }
        await run('mount', ['-o', 'remount,bind,ro', lib]);
      }
      try {
        const copy = await prepare(binaries, base);
        expect(copy).toBe(path.join(base, `pgsql-${installed.version}`));
        expect(await versionFrom(copy)).toBe(`initdb (PostgreSQL) ${installed.version}`);
        expect(await readdir(base)).toEqual([`pgsql-${installed.version}`]);
        const made = (await stat(copy)).ino;
        expect(await prepare(binaries, base)).toBe(copy);
        expect((await stat(copy)).ino).toBe(made);
        await createFrom(copy, base);
        expect(observed).toHaveLength(1);
        expect(observed[0]).toMatchObject({ kind: 'postgres.copying-binaries', to: copy });
      } finally {
        if (asRoot) await run('umount', ['-l', lib]);
        await chmod(lib, 0o755);
      }
    });
  });

  it.runIf(asRoot)('are copied where the server user cannot reach or run the installed ones', async () => {
    const user = chooseServerUser(await readUsers(), undefined);
    await withUnlinked(async (binaries, base) => {
      await chmod(path.join(binaries.root, 'bin', 'postgres'), 0o700);
      await chmod(path.join(binaries.root, 'bin', 'initdb'), 0o700);
      const copy = await prepare(binaries, base, user);
      expect(observed[0]).toHaveProperty(
        'reason',
        expect.stringContaining(`cannot execute ${binaries.root}/bin/postgres`),
      );
      expect(await versionFrom(copy, user)).toBe(`initdb (PostgreSQL) ${installed.version}`);
      await rm(copy, { recursive: true });
      await chmod(path.dirname(binaries.root), 0o700);
      expect(await versionFrom(await prepare(binaries, base, user), user)).toContain(installed.version);
      expect(observed[1]).toHaveProperty('reason', expect.stringContaining('cannot access'));
      expect((await stat(path.dirname(binaries.root))).mode & 0o777).toBe(0o700);
    });
  });

  it('are refused when a library itself is missing', async () => {
    await withUnlinked(async (binaries, base) => {
      const [first] = parseLinks(JSON.stringify(await linksOf(binaries)));
      await rm(path.join(binaries.root, first?.source ?? ''));
      await expect(prepare(binaries, base)).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_BINARIES_UNUSABLE' });
    });
  });

  it('of other versions and unfinished copies are removed', async () => {
    await withOpenDirectory(async (base) => {
      const current = `pgsql-${installed.version}`;
      for (const name of [current, 'pgsql-17.5', `${current}.new-1234`, 'cluster']) await mkdir(path.join(base, name));
      await removeOldCopies(base, installed);
      expect((await readdir(base)).toSorted()).toEqual(['cluster', current]);
    });
  });
});

async function linksOf(binaries: Binaries): Promise<readonly object[]> {
  const missing = await missingLinks(binaries.root);
  return missing.map(({ source, target }) => ({ source: `native/${source}`, target: `native/${target}` }));
}
