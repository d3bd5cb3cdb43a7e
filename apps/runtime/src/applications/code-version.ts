import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { applicationTooLarge, applicationUnreadable } from './errors.js';

interface CodeLimits {
  readonly files: number;
  readonly bytes: number;
}

const shippedLimits: CodeLimits = { files: 20_000, bytes: 1024 ** 3 };
/** Hexadecimal digits of the hash that make a version. */
const digits = 16;

/** Configuration is part of the metadata version, and secrets must not enter a hash that is shown. */
const notCode = new Set(['host.json', 'local.settings.json', '.git', '.DS_Store']);
/** The records that npm, pnpm and yarn keep of everything they install. */
const installed = ['.package-lock.json', '.modules.yaml', '.yarn-state.yml'];

/**
 * Hashes the names and contents of an app's files: the same code has the same version on every machine. Of node_modules only
 * the install record is read, with all versions and checksums, because reading tens of thousands of files would take longer
 * than starting the app; a dependency that was changed by hand is not noticed. Links are hashed by their target, not followed.
 */
export async function codeVersion(directory: string, limits: CodeLimits = shippedLimits): Promise<string> {
  const root = path.resolve(directory);
  const hash = createHash('sha256');
  const budget = { files: limits.files, bytes: limits.bytes };
  try {
    await addFolder(hash, root, '', budget);
  } catch (error) {
    if (error === overFiles) throw applicationTooLarge({ directory: root, limit: `${limits.files} files` });
    if (error === overBytes) throw applicationTooLarge({ directory: root, limit: `${limits.bytes} bytes` });
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw applicationUnreadable({ directory: root, reason }, error);
  }
  return `c${hash.digest('hex').slice(0, digits)}`;
}

const overFiles = new Error('too many files');
const overBytes = new Error('too many bytes');

async function addFolder(hash: Hash, root: string, relative: string, budget: { files: number; bytes: number }) {
  const entries = await readdir(path.join(root, relative), { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (relative === '' && notCode.has(entry.name)) continue;
    // The same separator on every platform.
    const name = relative === '' ? entry.name : `${relative}/${entry.name}`;
    if (entry.isSymbolicLink()) hash.update(`link ${name} ${await readlink(path.join(root, name))}\n`);
    else if (entry.isDirectory() && entry.name === 'node_modules') await addInstalled(hash, root, name, budget);
    else if (entry.isDirectory()) await addFolder(hash, root, name, budget);
    else if (entry.isFile()) await addFile(hash, root, name, budget);
  }
}

async function addInstalled(hash: Hash, root: string, folder: string, budget: { files: number; bytes: number }) {
  const names = new Set(await readdir(path.join(root, folder)));
  for (const record of installed.filter((name) => names.has(name)))
    await addFile(hash, root, `${folder}/${record}`, budget);
}

async function addFile(hash: Hash, root: string, name: string, budget: { files: number; bytes: number }) {
  const file = path.join(root, name);
  const { size } = await stat(file);
  budget.files -= 1;
  budget.bytes -= size;
  if (budget.files < 0) throw overFiles;
  if (budget.bytes < 0) throw overBytes;
  hash.update(`file ${name} ${size}\n`);
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer); // without an encoding, chunks are buffers
}
