import { chmod, chown, lstat, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exists, readIfExists, writePrivateFile } from './durable-files.js';
import { directoryUnusable } from './errors.js';
import { onFiles } from './file-faults.js';
import type { ClusterLocation } from './cluster-location.js';
import { firstClosed } from './reachability.js';
import { serverPort } from './settings.js';
import { factsAlongPath } from './path-facts.js';

// The address of a Unix socket has 104 bytes on macOS and 108 on Linux, including the terminating zero.
const longestSocketPath = 100;
const temporaryPrefix = 'drover-postgres-';

export function socketIn(directory: string): string {
  return path.join(directory, `.s.PGSQL.${serverPort}`);
}

export function fitsSocket(directory: string): boolean {
  return Buffer.byteLength(socketIn(directory)) <= longestSocketPath;
}

/** Creates a directory for the socket that only the server's user can access: in `base`, or in /tmp if that path is too long. */
export async function makeSocketDirectory(location: ClusterLocation): Promise<string> {
  await removeSocketDirectory(location);
  const usual = path.join(location.base, 'run');
  if (fitsSocket(usual)) {
    await onFiles(usual, () => mkdir(usual));
    await closeToOthers(usual, location);
    return usual;
  }
  const temporary = await onFiles(tmpdir(), async () =>
    mkdtemp(path.join(await shortParent(location), temporaryPrefix)),
  );
  await closeToOthers(temporary, location);
  await writePrivateFile(pointerIn(location), `${temporary}\n`);
  return temporary;
}

/** Removes the directory of this or an earlier run. No server of this cluster may run. */
export async function removeSocketDirectory(location: ClusterLocation): Promise<void> {
  await rm(path.join(location.base, 'run'), { recursive: true, force: true });
  const temporary = await readIfExists(pointerIn(location));
  // After a reboot emptied /tmp the path may belong to another program: only a directory of the server's user is removed.
  if (temporary !== undefined && (await isOurs(temporary, location)))
    await rm(temporary, { recursive: true, force: true });
  await rm(pointerIn(location), { force: true });
}

/** Removes socket and lock file of a server that has exited: a reused pid in the lock would block the next one. */
export async function clearSocket(directory: string): Promise<void> {
  for (const file of [socketIn(directory), `${socketIn(directory)}.lock`]) await rm(file, { force: true });
}

async function shortParent(location: ClusterLocation): Promise<string> {
  for (const candidate of [tmpdir(), '/tmp']) {
    if (!(await exists(candidate))) continue;
    const parent = await realpath(candidate);
    if (!fitsSocket(path.join(parent, `${temporaryPrefix}XXXXXX`))) continue;
    if (!location.user || !firstClosed(await factsAlongPath(parent), location.user)) return parent;
  }
  const reason = 'its path is too long for a socket, and no temporary directory is usable instead';
  throw directoryUnusable({ path: location.base, reason });
}

async function closeToOthers(directory: string, { user }: ClusterLocation): Promise<void> {
  await chmod(directory, 0o700);
  if (user) await chown(directory, user.uid, user.gid);
}

async function isOurs(directory: string, { user }: ClusterLocation): Promise<boolean> {
  if (!path.basename(directory).startsWith(temporaryPrefix) || !(await exists(directory))) return false;
  const found = await lstat(directory);
  return found.isDirectory() && [user?.uid, process.getuid?.()].includes(found.uid);
}

function pointerIn(location: ClusterLocation): string {
  return path.join(location.base, 'socket-directory');
}
