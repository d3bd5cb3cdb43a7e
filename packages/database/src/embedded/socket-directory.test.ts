import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { isThere } from './durable-files.js';
import type { Place } from './place.js';
import { fitsSocket, makeSocketDirectory, removeSocketDirectory } from './socket-directory.js';

const placeAt = (home: string): Place => ({ directory: home, home, cluster: `${home}/cluster`, user: undefined });

async function withLongHome<T>(use: (place: Place) => Promise<T>): Promise<T> {
  return withScratchDirectory(async (scratch) => {
    const home = path.join(scratch, 'n'.repeat(90));
    await mkdir(home);
    return use(placeAt(home));
  });
}

describe('socket directory', () => {
  it('counts the whole path of the socket in bytes', () => {
    const room = 100 - '/.s.PGSQL.5432'.length;
    expect(fitsSocket(`/${'a'.repeat(room - 1)}`)).toBe(true);
    expect(fitsSocket(`/${'a'.repeat(room)}`)).toBe(false);
    expect(fitsSocket(`/${'ä'.repeat(room / 2)}`)).toBe(false);
  });

  it('is run below the home, closed to others, and fresh at each start', async () => {
    await withScratchDirectory(async (home) => {
      const run = await makeSocketDirectory(placeAt(home));
      expect(run).toBe(path.join(home, 'run'));
      expect((await stat(run)).mode & 0o777).toBe(0o700);
      await writeFile(path.join(run, '.s.PGSQL.5432.lock'), '1\n');
      await makeSocketDirectory(placeAt(home));
      expect(await isThere(path.join(run, '.s.PGSQL.5432.lock'))).toBe(false);
      await removeSocketDirectory(placeAt(home));
      expect(await isThere(run)).toBe(false);
    });
  });

  it('is a temporary one where the path would be too long, gone after the stop', async () => {
    await withLongHome(async (place) => {
      const directory = await makeSocketDirectory(place);
      expect(path.basename(directory)).toMatch(/^drover-postgres-/);
      expect(fitsSocket(directory)).toBe(true);
      expect((await stat(directory)).mode & 0o777).toBe(0o700);
      await removeSocketDirectory(place);
      expect(await isThere(directory)).toBe(false);
    });
  });

  it('is cleaned up by the next start when a crash left it', async () => {
    await withLongHome(async (place) => {
      const left = await makeSocketDirectory(place);
      const next = await makeSocketDirectory(place);
      expect(await isThere(left)).toBe(false);
      expect(await isThere(next)).toBe(true);
      await removeSocketDirectory(place);
    });
  });

  it('is not removed when the note names something else', async () => {
    await withScratchDirectory(async (home) => {
      const precious = path.join(home, 'precious');
      await mkdir(precious);
      for (const note of [precious, tmpdir(), path.join(home, 'drover-postgres-none')]) {
        await writeFile(path.join(home, 'socket-directory'), note);
        await removeSocketDirectory(placeAt(home));
      }
      expect(await isThere(precious)).toBe(true);
      await expect(readFile(path.join(home, 'socket-directory'))).rejects.toThrow('ENOENT');
    });
  });
});
