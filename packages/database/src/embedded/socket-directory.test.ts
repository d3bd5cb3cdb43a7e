import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { exists } from './durable-files.js';
import type { ClusterLocation } from './cluster-location.js';
import { fitsSocket, makeSocketDirectory, removeSocketDirectory } from './socket-directory.js';

const locationAt = (base: string): ClusterLocation => ({
  directory: base,
  base,
  cluster: `${base}/cluster`,
  user: undefined,
});

async function withLongBase<T>(use: (location: ClusterLocation) => Promise<T>): Promise<T> {
  return withScratchDirectory(async (scratch) => {
    const base = path.join(scratch, 'n'.repeat(90));
    await mkdir(base);
    return use(locationAt(base));
  });
}

describe('socket directory', () => {
  it('counts the whole path of the socket in bytes', () => {
    const room = 100 - '/.s.PGSQL.5432'.length;
    expect(fitsSocket(`/${'a'.repeat(room - 1)}`)).toBe(true);
    expect(fitsSocket(`/${'a'.repeat(room)}`)).toBe(false);
    expect(fitsSocket(`/${'ä'.repeat(room / 2)}`)).toBe(false);
  });

  it('is run below the base, closed to others, and fresh at each start', async () => {
    await withScratchDirectory(async (base) => {
      const run = await makeSocketDirectory(locationAt(base));
      expect(run).toBe(path.join(base, 'run'));
      expect((await stat(run)).mode & 0o777).toBe(0o700);
      await writeFile(path.join(run, '.s.PGSQL.5432.lock'), '1\n');
      await makeSocketDirectory(locationAt(base));
      expect(await exists(path.join(run, '.s.PGSQL.5432.lock'))).toBe(false);
      await removeSocketDirectory(locationAt(base));
      expect(await exists(run)).toBe(false);
    });
  });

  it('is a temporary one where the path would be too long, gone after the stop', async () => {
    await withLongBase(async (location) => {
      const directory = await makeSocketDirectory(location);
      expect(path.basename(directory)).toMatch(/^drover-postgres-/);
      expect(fitsSocket(directory)).toBe(true);
      expect((await stat(directory)).mode & 0o777).toBe(0o700);
      await removeSocketDirectory(location);
      expect(await exists(directory)).toBe(false);
    });
  });

  it('is cleaned up by the next start when a crash left it', async () => {
    await withLongBase(async (location) => {
      const left = await makeSocketDirectory(location);
      const next = await makeSocketDirectory(location);
      expect(await exists(left)).toBe(false);
      expect(await exists(next)).toBe(true);
      await removeSocketDirectory(location);
    });
  });

  it('is not removed when the note names something else', async () => {
    await withScratchDirectory(async (base) => {
      const precious = path.join(base, 'precious');
      await mkdir(precious);
      for (const note of [precious, tmpdir(), path.join(base, 'drover-postgres-none')]) {
        await writeFile(path.join(base, 'socket-directory'), note);
        await removeSocketDirectory(locationAt(base));
      }
      expect(await exists(precious)).toBe(true);
      await expect(readFile(path.join(base, 'socket-directory'))).rejects.toThrow('ENOENT');
    });
  });
});
