import { access, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { withScratchDirectory } from './scratch.js';

it('gives an empty directory and removes it with all that is in it, also after a failure', async () => {
  let seen = '';
  const failing = withScratchDirectory(async (directory) => {
    seen = directory;
    expect(await readdir(directory)).toEqual([]);
    await writeFile(path.join(directory, 'file'), 'x');
    throw new Error('test failed');
  });
  await expect(failing).rejects.toThrow('test failed');
  await expect(access(seen)).rejects.toMatchObject({ code: 'ENOENT' });
});
