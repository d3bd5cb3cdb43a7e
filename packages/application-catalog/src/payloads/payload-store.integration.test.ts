import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TenantId } from '@drover/contracts';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import yazl from 'yazl';
import { packFolder } from './pack-folder.js';
import { PayloadStore } from './payload-store.js';
import type { PayloadLimits } from './unpack-zip.js';

const tenant = 'acme' as TenantId;
const limits: PayloadLimits = { zipBytes: 1_000_000, unpackedBytes: 100_000_000, files: 50 };

type Files = Readonly<Record<string, string | Buffer>>;
const app: Files = { 'host.json': '{"version":"2.0"}', 'src/index.js': 'exports.answer = 42;' };

/** A zip of these files; `modes` are those of Unix, by name. */
async function zipOf(files: Files, modes: Readonly<Record<string, number>> = {}): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  for (const [name, contents] of Object.entries(files))
    zip.addBuffer(Buffer.from(contents), name, { mode: modes[name] ?? 0o100644 });
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Replaces a name, in both places that have it, by one of the same length that packers refuse to write. */
function renamed(zip: Buffer, from: string, to: string): Buffer {
  expect(to).toHaveLength(from.length);
  return Buffer.from(zip.toString('latin1').replaceAll(from, to), 'latin1');
}

/** Changes the 16 or 32 bits at an offset of the first entry of the central directory. */
function patched(zip: Buffer, offset: number, value: number, bytes: 2 | 4): Buffer {
  const copy = Buffer.from(zip);
  const at = copy.indexOf(Buffer.from('504b0102', 'hex')) + offset;
  if (bytes === 2) copy.writeUInt16LE(value, at);
  else copy.writeUInt32LE(value, at);
  return copy;
}

async function* inChunks(zip: Buffer, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < zip.length; at += size) yield zip.subarray(at, at + size);
}

function withStore<T>(
  use: (store: PayloadStore, directory: string) => Promise<T>,
  changes: Partial<PayloadLimits> = {},
) {
  return withScratchDirectory(async (directory) => {
    const root = path.join(directory, 'payloads');
    const all = { ...limits, ...changes };
    return use(
      new PayloadStore({ directory: root, limits: all, clock: systemClock, randomness: systemRandomness }),
      root,
    );
  });
}

/** Files below a directory, relative to it. */
async function filesIn(directory: string): Promise<string[]> {
  if (!existsSync(directory)) return [];
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)))
    .toSorted();
}

describe('PayloadStore', () => {
  it('stores a zip under the hash of its files, complete and executable, and twice the same as one', async () => {
    await withStore(async (store, root) => {
      const first = await store.receive(tenant, inChunks(await zipOf(app)));
      expect(await store.has(tenant, first.digest)).toBe(false);
      await first.place();
      await first.discard();
      // Other order and other permissions: the same files.
      const other = await zipOf(
        { 'src/index.js': app['src/index.js'] ?? '', 'host.json': app['host.json'] ?? '' },
        { 'host.json': 0o100755 },
      );
      const second = await store.receive(tenant, inChunks(other));
      await second.place();
      await second.discard();
      expect(second).toMatchObject({ digest: first.digest, files: 2, bytes: 37 });
      const directory = store.directoryOf(tenant, first.digest);
      expect(await readFile(path.join(directory, 'src/index.js'), 'utf8')).toBe(app['src/index.js']);
      expect((await stat(path.join(directory, 'src/index.js'))).mode & 0o777).toBe(0o555);
      expect(await filesIn(root)).toEqual([`acme/${first.digest}/host.json`, `acme/${first.digest}/src/index.js`]);
      await store.remove(tenant, first.digest);
      expect(await filesIn(root)).toEqual([]);
    });
  });

  const evil = (from: string, to: string) => async () => renamed(await zipOf({ ...app, [from]: 'x' }), from, to);
  const link = (mode: number) => () => zipOf({ ...app, 'src/link': '/etc/passwd' }, { 'src/link': mode });
  it.each<[string, () => Promise<Buffer>, RegExp]>([
    ['a path that leads outside', evil('aaaaevil.js', '../../ev.js'), /"\.\.\/\.\.\/ev\.js" leads outside/],
    ['such a path in the middle', evil('a/bb/evil.js', 'a/../ev/l.js'), /"a\/\.\.\/ev\/l\.js" leads outside/],
    ['such a path of Windows', evil('aaaaevil.js', '..\\..\\ev.js'), /leads outside/],
    ['an absolute path', evil('aetc/evil.js', '/etc/evil.js'), /"\/etc\/evil\.js" has an absolute path/],
    ['a drive', evil('aaaevil.js', 'C:/evil.js'), /"C:\/evil\.js" has an absolute path/],
    ['a name with NUL', evil('aaaaevil.js', 'aaaa\u0000vil.js'), /control characters/],
    ['an empty part of a path', evil('a/bb/evil.js', 'a//b/evil.js'), /empty part/],
    ['a symbolic link', link(0o120777), /"src\/link" is a symbolic link/],
    ['a device', link(0o060644), /"src\/link" is neither a file nor a directory/],
    ['a pipe', link(0o010644), /"src\/link" is neither a file nor a directory/],
    ['one name twice', evil('src/inde2.js', 'src/index.js'), /"src\/index\.js" exists twice/],
    ['a file that is a folder elsewhere', () => zipOf({ ...app, src: 'x' }), /"src" is a file and a directory/],
    [
      'a file inside of a file',
      () => zipOf({ a: 'x', ...app, 'a/b.js': 'x' }),
      /"a\/b\.js" is inside of an entry that is a file/,
    ],
    ['an encrypted entry', async () => patched(await zipOf(app), 8, 1, 2), /"host\.json" is encrypted/],
    [
      'an unknown compression',
      async () => patched(await zipOf(app), 10, 99, 2),
      /"host\.json" is compressed by a method/,
    ],
    ['a wrong checksum', async () => patched(await zipOf(app), 16, 1, 4), /checksum of "host\.json" is wrong/],
    ['a size that is a lie', async () => patched(await zipOf(app), 24, 5, 4), /"host\.json" cannot be read/],
    ['a cut', async () => (await zipOf(app)).subarray(0, 120), /cannot be read/],
    ['text', async () => Buffer.from('this is no zip'.repeat(10)), /cannot be read/],
    ['nothing', async () => Buffer.alloc(0), /cannot be read/],
    ['no host.json', () => zipOf({ 'index.js': '' }), /no host\.json at its root/],
    [
      'the folder itself',
      () => zipOf({ 'hello/host.json': '{}' }),
      /host\.json is "hello\/host\.json", not at the root/,
    ],
    ['a bomb', () => zipOf({ ...app, 'zeros.bin': Buffer.alloc(70_000_000) }), /more than 100 times its size/],
  ])('refuses a zip with %s by name, and leaves nothing behind', async (_, make, message) => {
    await withStore(async (store, root) => {
      await expect(store.receive(tenant, inChunks(await make()))).rejects.toMatchObject({
        code: 'APPLICATION_PAYLOAD_INVALID',
        status: 422,
        message: expect.stringMatching(message),
      });
      expect(await filesIn(path.dirname(root))).toEqual([]);
    });
  });

  it.each<[string, Partial<PayloadLimits>, RegExp]>([
    ['bytes of the zip', { zipBytes: 100 }, /zip has more than 100 bytes.*DROVER_PAYLOAD_BYTES/],
    ['unpacked bytes', { unpackedBytes: 30 }, /unpacked zip has more than 30 bytes.*DROVER_PAYLOAD_UNPACKED_BYTES/],
    ['files', { files: 1 }, /more than 1 files.*DROVER_PAYLOAD_FILES/],
  ])('refuses too many %s, and names the limit', async (_, changes, message) => {
    await withStore(async (store, root) => {
      await expect(store.receive(tenant, inChunks(await zipOf(app), 10))).rejects.toMatchObject({
        code: 'APPLICATION_PAYLOAD_TOO_LARGE',
        status: 413,
        message: expect.stringMatching(message),
      });
      expect(await filesIn(root)).toEqual([]);
    }, changes);
  });

  it('stops reading an upload that is too large', async () => {
    await withStore(async (store) => {
      let sent = 0;
      async function* endless(): AsyncGenerator<Uint8Array> {
        for (;;) {
          sent += 1_000;
          yield Buffer.alloc(1_000);
        }
      }
      await expect(store.receive(tenant, endless())).rejects.toMatchObject({ code: 'APPLICATION_PAYLOAD_TOO_LARGE' });
      expect(sent).toBe(limits.zipBytes + 1_000);
    });
  });

  it('leaves nothing of an upload that breaks off', async () => {
    await withStore(async (store, root) => {
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield (await zipOf(app)).subarray(0, 50);
        throw new Error('socket closed');
      }
      await expect(store.receive(tenant, broken())).rejects.toMatchObject({
        code: 'APPLICATION_PAYLOAD_INVALID',
        message: expect.stringContaining('ended before it was complete'),
      });
      expect(await filesIn(root)).toEqual([]);
    });
  });

  it('removes what a dead process left, but not an upload in progress', async () => {
    await withStore(async (store, root) => {
      const [old, young] = ['old.zip', 'young.zip'].map((name) => path.join(root, 'incoming', name)) as [
        string,
        string,
      ];
      await mkdir(path.dirname(old), { recursive: true });
      for (const file of [old, young]) await writeFile(file, '');
      const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
      await utimes(old, hoursAgo, hoursAgo);
      await store.removeStale();
      expect(await filesIn(root)).toEqual(['incoming/young.zip']);
    });
  });

  it('takes what packFolder makes of a folder: with links resolved, without secrets of the machine', async () => {
    await withStore(async (store, root) => {
      const folder = path.join(path.dirname(root), 'app');
      await mkdir(path.join(folder, 'node_modules/.bin'), { recursive: true });
      await writeFile(path.join(folder, 'host.json'), '{}');
      await writeFile(path.join(folder, 'local.settings.json'), '{"Values":{"KEY":"hunter2"}}');
      await writeFile(path.join(folder, 'node_modules/tool.js'), 'tool');
      await symlink('../tool.js', path.join(folder, 'node_modules/.bin/tool'));
      await symlink('..', path.join(folder, 'node_modules/self'));
      const zip = await packFolder(folder);
      expect(zip.equals(await packFolder(folder))).toBe(true);
      const { digest, place } = await store.receive(tenant, inChunks(zip));
      await place();
      expect(await filesIn(store.directoryOf(tenant, digest))).toEqual([
        'host.json',
        'node_modules/.bin/tool',
        'node_modules/tool.js',
      ]);
    });
  });
});
