import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeDirectories } from './make-directories.js';

describe('makeDirectories', () => {
  let scratch = '';
  beforeAll(async () => {
    scratch = await mkdtemp(path.join(tmpdir(), 'make-directories-'));
  });
  afterAll(() => rm(scratch, { recursive: true, force: true }));

  it('creates what is missing and returns the topmost directory that it created', async () => {
    const deep = path.join(scratch, 'a/b/c');
    expect(await makeDirectories(deep, { mode: 0o700 })).toBe(path.join(scratch, 'a'));
    expect((await stat(deep)).mode & 0o777).toBe(0o700);
    expect(await makeDirectories(deep)).toBeUndefined();
  });

  it('creates the same directories once when several ask for them', async () => {
    const deep = path.join(scratch, 'x/y/z');
    await Promise.all(Array.from({ length: 5 }, () => makeDirectories(deep)));
    expect(await readdir(path.join(scratch, 'x/y'))).toEqual(['z']);
  });

  it('rejects when a part of the path is a file', async () => {
    await writeFile(path.join(scratch, 'file'), '');
    await expect(makeDirectories(path.join(scratch, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeDirectories(path.join(scratch, 'file/in/it'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it.runIf(process.platform === 'linux')('rejects on a file system that takes no directories', async () => {
    await expect(makeDirectories('/proc/x/y')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
