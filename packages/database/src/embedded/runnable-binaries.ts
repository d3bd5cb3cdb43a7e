import { chmod, copyFile, mkdir, open, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import type { Observe, Randomness } from '@drover/service-kit';
import type { Binaries } from './binaries.js';
import { isThere, syncDirectory } from './durable-files.js';
import { binariesUnusable } from './errors.js';
import { errnoOf, onFiles } from './file-faults.js';
import { makeLinks, missingLinks } from './library-links.js';
import type { EmbeddedPostgresObservation } from './observations.js';
import { describeClosed, firstClosed, mayExecute } from './reachability.js';
import type { ServerUser } from './server-user.js';
import { factsOf, wayTo } from './way-to.js';

export interface RunnableBinariesOptions {
  readonly binaries: Binaries;
  readonly user: ServerUser | undefined;
  /** A directory that the server's user can reach, for a copy should one be needed. */
  readonly home: string;
  readonly randomness: Randomness;
  readonly observe: Observe<EmbeddedPostgresObservation>;
}

/**
 * The directory with bin, lib and share to run from: the installed package where that works, with its library links
 * made if its install script never ran; else a copy of our own, made once per version.
 */
export async function runnableBinaries(options: RunnableBinariesOptions): Promise<string> {
  const { binaries, home, randomness, observe } = options;
  const reason = await whyNotInPlace(options);
  if (reason === undefined) return binaries.root;
  const copy = path.join(home, copyName(binaries));
  if (await isThere(copy)) return copy;
  observe({ kind: 'postgres.copying-binaries', to: copy, reason });
  const draft = `${copy}.new-${randomness.bytes(6).toString('hex')}`;
  try {
    await onFiles(copy, async () => {
      await copyTree(binaries.root, draft);
      await makeLinks(draft, await missingLinks(draft));
      await rename(draft, copy);
      await syncDirectory(home);
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return copy;
}

/** Removes copies of other versions and copies that were never finished. Nothing may run from them. */
export async function removeOldCopies(home: string, binaries: Binaries): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith('pgsql-') || name === copyName(binaries)) continue;
    await rm(path.join(home, name), { recursive: true, force: true });
  }
}

function copyName(binaries: Binaries): string {
  return `pgsql-${binaries.version}`;
}

async function whyNotInPlace({ binaries, user }: RunnableBinariesOptions): Promise<string | undefined> {
  const { root } = binaries;
  const program = path.join(root, 'bin', 'postgres');
  if (user) {
    const closed = firstClosed(await wayTo(path.join(root, 'lib')), user);
    if (closed) return `the user ${user.name} may not enter ${describeClosed(closed)}`;
    if (!mayExecute(await factsOf(program), user)) return `the user ${user.name} may not run ${program}`;
  }
  const missing = await missingLinks(root);
  if (missing.length === 0) return undefined;
  const unpacked = await Promise.all(missing.map((link) => isThere(path.join(root, link.source))));
  const lacking = missing.find((_, index) => unpacked[index] === false);
  if (lacking) throw binariesUnusable({ path: root, reason: `${lacking.source} is missing` });
  try {
    await makeLinks(root, missing);
    return undefined;
  } catch (error) {
    return `${path.join(root, 'lib')} lacks links to its libraries and cannot be written (${errnoOf(error)})`;
  }
}

/** Everybody may read the copy, whatever the umask and the original say; every file is on disk before it is used. */
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
