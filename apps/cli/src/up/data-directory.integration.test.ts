import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemRandomness } from '@drover/service-kit';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { CredentialsFile, readCredentials } from './credentials.js';
import { DataDirectory, explainDiskError } from './data-directory.js';
import { ProcessLog } from './process-log.js';

describe('DataDirectory', () => {
  it('is held by one process at a time, and free after its release', () =>
    withScratchDirectory(async (scratch) => {
      const [first, second] = [new DataDirectory(`${scratch}/data`), new DataDirectory(`${scratch}/data`)];
      await first.start();
      await expect(second.start()).rejects.toMatchObject({
        code: 'DATA_DIRECTORY_IN_USE',
        message: expect.stringContaining(`pid ${process.pid}`),
      });
      await second.stop();
      await first.stop();
      await first.stop();
      const third = new DataDirectory(`${scratch}/data`);
      await expect(third.start()).resolves.toBeUndefined();
      await third.stop();
    }));

  it('writes private files atomically, with mode 0600 and without leftovers', () =>
    withScratchDirectory(async (scratch) => {
      const directory = new DataDirectory(scratch);
      await directory.start();
      await directory.writePrivately(path.join(scratch, 'note'), 'one');
      await directory.writePrivately(path.join(scratch, 'note'), 'two');
      expect(await readFile(path.join(scratch, 'note'), 'utf8')).toBe('two');
      expect((await stat(path.join(scratch, 'note'))).mode & 0o777).toBe(0o600);
      expect((await readdir(scratch)).toSorted()).toEqual(['lock', 'logs', 'note', 'owner.json']);
      await directory.stop();
    }));

  it.each([
    ['ENOSPC', 'DATA_DIRECTORY_FULL'],
    ['EACCES', 'DATA_DIRECTORY_UNUSABLE'],
    ['EROFS', 'DATA_DIRECTORY_UNUSABLE'],
  ])('explains %s as %s', (code, expected) => {
    expect(explainDiskError(Object.assign(new Error(code), { code }), '/somewhere')).toMatchObject({
      code: expected,
      message: expect.stringContaining('/somewhere'),
    });
  });

  it('does not translate errors of other kinds', () => {
    expect(explainDiskError(new TypeError('x is not a function'), '/somewhere')).toBeUndefined();
  });
});

describe('CredentialsFile', () => {
  it('creates a key once and keeps it when the address changes', () =>
    withScratchDirectory(async (scratch) => {
      const directory = new DataDirectory(scratch);
      await directory.start();
      const keys = [];
      for (const url of ['http://127.0.0.1:1', 'http://127.0.0.1:2']) {
        const file = new CredentialsFile(directory, systemRandomness);
        await file.start();
        await file.setUrl(url);
        const credentials = await readCredentials(directory.credentials);
        expect(credentials?.url).toBe(url);
        keys.push(credentials?.apiKey);
      }
      expect(keys[0]).toBe(keys[1]);
      await directory.stop();
    }));

  it.each(['', '{"half', '[]', '{"apiKey":"drv_short","url":"x"}', '{"apiKey":7,"url":"x"}'])(
    'creates a new key when the file contains %j',
    (content) =>
      withScratchDirectory(async (scratch) => {
        const directory = new DataDirectory(scratch);
        await directory.start();
        await writeFile(directory.credentials, content);
        expect(await readCredentials(directory.credentials)).toBeUndefined();
        await new CredentialsFile(directory, systemRandomness).start();
        expect(await readCredentials(directory.credentials)).toMatchObject({ apiKey: expect.stringMatching(/^drv_/) });
        await directory.stop();
      }),
  );
});

describe('ProcessLog', () => {
  it('keeps two files of bounded size and loses no line of the newest', () =>
    withScratchDirectory(async (scratch) => {
      const file = path.join(scratch, 'role.log');
      await writeFile(file, 'x'.repeat(10 * 1024 * 1024));
      const log = new ProcessLog(file);
      log.write('first');
      log.write('second');
      await log.stop();
      expect(await readFile(file, 'utf8')).toBe('first\nsecond\n');
      expect((await stat(`${file}.1`)).size).toBe(10 * 1024 * 1024);
    }));
});
