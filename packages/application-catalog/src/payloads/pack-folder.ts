import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { deflateRaw } from 'node:zlib';
import yazl from 'yazl';
import { parseIgnoreFile, type IsIgnored } from './ignore-patterns.js';

/** Left out of a payload: version control, and settings and secrets of the developer's machine. */
const notPacked = new Set(['.git', '.DS_Store', 'local.settings.json', '.vscode']);
/** What else the app leaves out, in the format that Azure's tools read. */
const ignoreFile = '.funcignore';
/** The oldest time that a zip can express: equal folders make equal zips. */
const mtime = new Date(1980, 0, 1);

/** Files that are read and compressed at a time. */
const batchFiles = 64;
/** Larger files are compressed as streams, so that few of them are in memory. */
const maxWholeBytes = 4 * 1_024 ** 2;
/** The least compression: an eighth more bytes than with the usual one, for much less CPU time. */
const compressionLevel = 1;
const deflate = promisify<Buffer, Buffer>(deflateRaw);

/**
 * Packs the folder of an app into a zip, without what its `.funcignore` lists. Links are followed, because a payload has none. Calls
 * `onProgress` with the files that were read so far, and their total number. Rejects if a file cannot be read.
 */
export async function packFolder(
  directory: string,
  onProgress: (files: number, of: number) => void = () => undefined,
): Promise<Buffer<ArrayBuffer>> {
  const root = path.resolve(directory);
  const zip = new yazl.ZipFile();
  const chunks: Buffer[] = [];
  const packed = new Promise<void>((resolve, reject) => {
    zip.once('error', reject);
    zip.outputStream.on('data', (chunk: Buffer) => void chunks.push(chunk));
    zip.outputStream.once('end', resolve);
    zip.outputStream.once('error', reject);
  });
  packed.catch(() => undefined); // awaited below, unless the folder cannot be read
  const names = await listFiles(root, await readIgnoreFile(root));
  for (let first = 0; first < names.length; first += batchFiles) {
    await addFiles(zip, root, names.slice(first, first + batchFiles));
    onProgress(Math.min(first + batchFiles, names.length), names.length);
  }
  zip.end();
  await packed;
  return Buffer.concat(chunks);
}

/** Adds files in their order. A file as a whole is compressed by the thread pool, without a stream of its own. */
async function addFiles(zip: yazl.ZipFile, root: string, names: readonly string[]): Promise<void> {
  const options = { mtime, mode: 0o100755, compressionLevel };
  const contents = await Promise.all(
    names.map(async (name) => {
      const file = path.join(root, name);
      return (await stat(file)).size > maxWholeBytes ? undefined : await readFile(file);
    }),
  );
  for (const [index, name] of names.entries()) {
    const content = contents[index];
    if (content) zip.addBuffer(content, name, options);
    else zip.addFile(path.join(root, name), name, options);
  }
  // Waits for its turn in the thread pool: no more is read than is compressed.
  await deflate(Buffer.alloc(0));
}

async function readIgnoreFile(root: string): Promise<IsIgnored> {
  try {
    return parseIgnoreFile(await readFile(path.join(root, ignoreFile), 'utf8'));
  } catch {
    return () => false; // most apps have none
  }
}

/** Paths of all files relative to the root, with forward slashes. `above` are the real paths of the folders that lead here. */
async function listFiles(
  root: string,
  isIgnored: IsIgnored,
  relative = '',
  above: readonly string[] = [],
): Promise<string[]> {
  const folder = path.join(root, relative);
  const real = await realpath(folder);
  if (above.includes(real)) return []; // a link to a folder that contains it, as package managers make for workspaces
  const entries = await readdir(folder, { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (relative === '' && notPacked.has(entry.name)) continue;
    const name = relative === '' ? entry.name : `${relative}/${entry.name}`;
    const kind = entry.isSymbolicLink() ? await stat(path.join(root, name)) : entry;
    if (isIgnored(name, kind.isDirectory())) continue;
    if (kind.isDirectory()) found.push(...(await listFiles(root, isIgnored, name, [...above, real])));
    else if (kind.isFile()) found.push(name);
  }
  return found;
}
