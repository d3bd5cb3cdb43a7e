import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import {
  ask,
  asRoot,
  OwnerProcess,
  patience,
  processesMentioning,
  trial,
  withFileSystem,
  withOpenDirectory,
} from './testing/trial.js';

const nobody = { uid: 65534, gid: 65534 };

/** A cluster that was started and stopped once. */
async function withCluster<T>(use: (directory: string) => Promise<T>): Promise<T> {
  return withOpenDirectory(async (directory) => {
    await using it = trial(directory);
    await it.postgres.start(patience);
    await it.postgres.stop();
    return use(directory);
  });
}

describe('faults', () => {
  it('names a file that stands where a directory belongs', async () => {
    await withOpenDirectory(async (scratch) => {
      const file = path.join(scratch, 'file');
      await writeFile(file, '');
      for (const directory of [file, path.join(file, 'postgres')]) {
        await using it = trial(directory);
        const refused = it.postgres.start(patience);
        await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_DIRECTORY_UNUSABLE' });
        await expect(refused).rejects.toThrow(`The database directory ${directory} cannot be used`);
        await it.postgres.stop();
      }
    });
  });

  it.skipIf(asRoot)('names a directory that may not be written', async () => {
    await withOpenDirectory(async (scratch) => {
      await chmod(scratch, 0o500);
      for (const directory of [scratch, path.join(scratch, 'postgres')]) {
        await using it = trial(directory);
        const refused = it.postgres.start(patience);
        await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_DIRECTORY_UNUSABLE' });
        await expect(refused).rejects.toThrow(/permission denied.*choose another data directory/);
      }
      await chmod(scratch, 0o700);
    });
  });

  it.runIf(asRoot)('names a directory that an ordinary user may not write', async () => {
    await withOpenDirectory(async (scratch) => {
      const owner = new OwnerProcess(path.join(scratch, 'postgres'), nobody);
      const said = await owner.line(/"failed":true/);
      expect(said).toContain('EMBEDDED_POSTGRES_DIRECTORY_UNUSABLE');
      expect(said).toContain('permission denied (EACCES)');
      expect((await owner.exited).code).toBe(1);
    });
  });

  it.runIf(asRoot)('names a read-only file system', async (context) => {
    const mounted = await withFileSystem('ro,mode=755', async (disk) => {
      await using it = trial(path.join(disk, 'postgres'));
      const refused = it.postgres.start(patience);
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_DIRECTORY_UNUSABLE' });
      await expect(refused).rejects.toThrow('read-only (EROFS)');
    });
    if (!mounted) context.skip('this machine does not let us mount a file system');
  });

  it.runIf(asRoot)('names a disk that is too small for a new database, and leaves nothing on it', async (context) => {
    const mounted = await withFileSystem('size=16m,mode=755', async (disk) => {
      await using it = trial(disk);
      const refused = it.postgres.start(patience);
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_DISK_FULL' });
      await expect(refused).rejects.toThrow(`The disk of ${disk} is full`);
      expect(await readdir(disk)).toEqual(['password']);
      expect(await processesMentioning(disk)).toEqual([]);
    });
    if (!mounted) context.skip('this machine does not let us mount a file system');
  });

  it.runIf(asRoot)('names a disk that is full at the start, and starts once there is space', async (context) => {
    const mounted = await withFileSystem('size=120m,mode=755', async (disk) => {
      await using it = trial(disk);
      await it.postgres.start(patience);
      await it.postgres.stop();
      const filler = path.join(disk, 'filler');
      await expect(writeFile(filler, Buffer.alloc(130 * 1024 * 1024))).rejects.toThrow('ENOSPC');
      const refused = it.postgres.start(patience);
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_DISK_FULL' });
      expect(await processesMentioning(disk)).toEqual([]);
      await rm(filler);
      await it.postgres.start(patience);
      expect(await ask(it.postgres.url.reveal(), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
    if (!mounted) context.skip('this machine does not let us mount a file system');
  });

  it('names the version that made a cluster of another major version, and leaves it alone', async () => {
    await withCluster(async (directory) => {
      await writeFile(path.join(directory, 'cluster', 'PG_VERSION'), '17\n');
      await using it = trial(directory);
      const refused = it.postgres.start(patience);
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_OTHER_VERSION' });
      await expect(refused).rejects.toThrow('was created by PostgreSQL 17, but this Drover runs PostgreSQL 18');
    });
  });

  it('shows the end of the log when the server exits during its start', async () => {
    await withCluster(async (directory) => {
      await using it = trial(directory, { settings: { max_connections: 'many' } });
      const refused = it.postgres.start(patience);
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_START_FAILED' });
      await expect(refused).rejects.toThrow(
        /server\.log names and start again:\n.*invalid value for parameter "max_connections": "many"/s,
      );
      expect((await readdir(directory)).toSorted()).toEqual(['cluster', 'password', 'server.log']);
    });
  });

  it('says why when the server exits again and again after it was lost, and tries on', async () => {
    await withOpenDirectory(async (directory) => {
      await using it = trial(directory);
      await it.postgres.start(patience);
      const conf = path.join(directory, 'cluster', 'postgresql.conf');
      await writeFile(conf, 'nonsense = on\n');
      process.kill(Number(it.postgres.pid), 'SIGKILL');
      await eventually(() => it.kinds().filter((kind) => kind === 'postgres.restart-failed').length >= 2);
      expect(JSON.stringify(it.observed)).toContain('unrecognized configuration parameter');
      await writeFile(conf, '');
      await eventually(() => it.kinds().filter((kind) => kind === 'postgres.ready').length === 2);
      expect(await ask(it.postgres.url.reveal(), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
  });

  it('says which file is lost when the password is', async () => {
    await withCluster(async (directory) => {
      const file = path.join(directory, 'password');
      await writeFile(file, 'another\n');
      await using it = trial(directory);
      const refused = it.postgres.start(patience);
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_PASSWORD_LOST' });
      await expect(refused).rejects.toThrow(`${file} does not contain its password`);
      await rm(file);
      await expect(it.postgres.start(patience)).rejects.toThrow(`${file} is missing or empty`);
      expect(await processesMentioning(directory)).toEqual([]);
    });
  });

  it('says that a moved database is not where it should be, rather than begin an empty one', async () => {
    await withOpenDirectory(async (directory) => {
      await mkdir(path.join(directory, 'gone'));
      await writeFile(path.join(directory, 'moved-to'), `${directory}/gone\n`);
      await using it = trial(directory);
      const refused = it.postgres.start(patience);
      await expect(refused).rejects.toMatchObject({ code: 'EMBEDDED_POSTGRES_MOVED_CLUSTER_MISSING' });
      await expect(refused).rejects.toThrow(`refers to a database in ${directory}/gone, which does not exist`);
    });
  });
});
