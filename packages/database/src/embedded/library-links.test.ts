import { mkdir, readlink, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { makeLinks, missingLinks, parseLinks } from './library-links.js';

const list = JSON.stringify([
  { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' },
  { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so' },
]);

async function packageWithoutLinks(root: string): Promise<void> {
  await mkdir(path.join(root, 'lib'));
  await writeFile(path.join(root, 'lib/libpq.so.5.18'), 'a library');
  await writeFile(path.join(root, 'pg-symlinks.json'), list);
}

describe('library links', () => {
  it('are read as paths below native', () => {
    expect(parseLinks(list)[0]).toEqual({ source: 'lib/libpq.so.5.18', target: 'lib/libpq.so.5' });
  });

  it('are never made outside of the package', () => {
    const outside = [
      { source: 'native/lib/a', target: 'native/../../etc/a' },
      { source: '/etc/passwd', target: 'native/lib/b' },
      'nonsense',
      { source: 1 },
    ];
    expect(parseLinks(JSON.stringify(outside))).toEqual([]);
    expect(parseLinks('{}')).toEqual([]);
  });

  it('are missing until they are made, and relative so that the tree can move', async () => {
    await withScratchDirectory(async (root) => {
      await packageWithoutLinks(root);
      const missing = await missingLinks(root);
      expect(missing).toHaveLength(2);
      await makeLinks(root, missing);
      expect(await missingLinks(root)).toEqual([]);
      expect(await readlink(path.join(root, 'lib/libpq.so.5'))).toBe('libpq.so.5.18');
    });
  });

  it('may be created by another process meanwhile', async () => {
    await withScratchDirectory(async (root) => {
      await packageWithoutLinks(root);
      const missing = await missingLinks(root);
      await symlink('libpq.so.5.18', path.join(root, 'lib/libpq.so.5'));
      await makeLinks(root, missing);
      expect(await missingLinks(root)).toEqual([]);
    });
  });

  it('are none where the package has no list', async () => {
    await withScratchDirectory(async (root) => {
      expect(await missingLinks(root)).toEqual([]);
    });
  });
});
