import { chmod, copyFile, mkdir, open, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import type { Observe, Randomness } from '@drover/service-kit';
import type { Binaries } from './binaries.js';
import { exists, syncDirectory } from './durable-files.js';
import { binariesUnusable } from './errors.js';
import { errnoOf, onFiles } from './file-faults.js';
import { makeLinks, missingLinks } from './library-links.js';
import type { EmbeddedPostgresObservation } from './observations.js';
import { describeClosed, firstClosed, mayExecute } from './reachability.js';
import type { ServerUser } from './server-user.js';
import { factsOf, factsAlongPath } from './path-facts.js';

export interface RunnableBinariesOptions {
  readonly binaries: Binaries;
  readonly user: ServerUser | undefined;
  /** A directory that the server's user can access, for a copy if one is needed. */
  readonly base: string;
  readonly randomness: Randomness;
  readonly observe: Observe<EmbeddedPostgresObservation>;
}

/**
 * Returns the directory with bin, lib and share to run from: the installed package if possible, after creating its library links
 * if its install script did not run; else a copy, made once per version.
 */
export async function runnableBinaries(options: RunnableBinariesOptions): Promise<string> {
  const { binaries, base, randomness, observe } = options;
  const reason = await whyNotInPlace(options);
  if (reason === undefined) return binaries.root;
  const copy = path.join(base, copyName(binaries));
  if (await exists(copy)) return copy;
  observe({ kind: 'postgres.copying-binaries', to: copy, reason });
  const draft = `${copy}.new-${randomness.bytes(6).toString('hex')}`;
  try {
    await onFiles(copy, async () => {
      await copyTree(binaries.root, draft);
      await makeLinks(draft, await missingLinks(draft));
      await rename(draft, copy);
      await syncDirectory(base);
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return copy;
}

/** Removes copies of other versions and incomplete copies. No process may run from them. */
export async function removeOldCopies(base: string, binaries: Binaries): Promise<void> {
  for (const name of await readdir(base)) {
    if (!name.startsWith('pgsql-') || name === copyName(binaries)) continue;
    await rm(path.join(base, name), { recursive: true, force: true });
  }
}

function copyName(binaries: Binaries): string {
  return `pgsql-${binaries.version}`;
}

async function whyNotInPlace({ binaries, user }: RunnableBinariesOptions): Promise<string | undefined> {
  const { root } = binaries;
  const program = path.join(root, 'bin', 'postgres');
  if (user) {
    const closed = firstClosed(await factsAlongPath(path.join(root, 'lib')), user);
    if (closed) return `the user ${user.name} cannot access ${describeClosed(closed)}`;
    if (!mayExecute(await factsOf(program), user)) return `the user ${user.name} cannot execute ${program}`;
  }
  const missing = await missingLinks(root);
  if (missing.length === 0) return undefined;
  const unpacked = await Promise.all(missing.map((link) => exists(path.join(root, link.source))));
  const lacking = missing.find((_, index) => unpacked[index] === false);
  if (lacking) throw binariesUnusable({ path: root, reason: `${lacking.source} is missing` });
  try {
    await makeLinks(root, missing);
    return undefined;
  } catch (error) {
    return `${path.join(root, 'lib')} lacks links to its libraries and cannot be written (${errnoOf(error)})`;
  }
}

/** Makes the copy readable for all users, whatever umask and original say, and flushes every file before it is used. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else await copyProgram(source, target);
  }
}

async function copyProgram(source: string, target: string): Promise<void> {
  await copyFile(source, target);
  await chmod(target, ((await stat(source)).mode & 0o100) === 0 ? 0o644 : 0o755);
  const handle = await open(target, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
