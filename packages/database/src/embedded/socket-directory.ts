import { chmod, chown, lstat, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isThere, readIfThere, writePrivateFile } from './durable-files.js';
import { directoryUnusable } from './errors.js';
import { onFiles } from './file-faults.js';
import type { Place } from './place.js';
import { firstClosed } from './reachability.js';
import { serverPort } from './settings.js';
import { wayTo } from './way-to.js';

// A socket's address holds 104 bytes on macOS and 108 on Linux, the final zero included; stay well below both.
const longestSocketPath = 100;
const temporaryPrefix = 'drover-postgres-';

export function socketIn(directory: string): string {
  return path.join(directory, `.s.PGSQL.${serverPort}`);
}

export function fitsSocket(directory: string): boolean {
  return Buffer.byteLength(socketIn(directory)) <= longestSocketPath;
}

/** A directory for the server's socket that only its user can enter: in `home`, or a temporary one if that path is too long. */
export async function makeSocketDirectory(place: Place): Promise<string> {
  await removeSocketDirectory(place);
  const usual = path.join(place.home, 'run');
  if (fitsSocket(usual)) {
    await onFiles(usual, () => mkdir(usual));
    await closeToOthers(usual, place);
    return usual;
  }
  const temporary = await onFiles(tmpdir(), async () => mkdtemp(path.join(await shortParent(place), temporaryPrefix)));
  await closeToOthers(temporary, place);
  await writePrivateFile(noteIn(place), `${temporary}\n`);
  return temporary;
}

/** Removes this or an earlier run's directory. No server of this place may run. */
export async function removeSocketDirectory(place: Place): Promise<void> {
  await rm(path.join(place.home, 'run'), { recursive: true, force: true });
  const temporary = await readIfThere(noteIn(place));
  // Anybody may have put something else there since a reboot emptied /tmp: only a directory of the server's goes.
  if (temporary !== undefined && (await isOurs(temporary, place)))
    await rm(temporary, { recursive: true, force: true });
  await rm(noteIn(place), { force: true });
}

/** Removes socket and lock of a server that is gone, so that no reused pid in the lock stops the next one. */
export async function clearSocket(directory: string): Promise<void> {
  for (const file of [socketIn(directory), `${socketIn(directory)}.lock`]) await rm(file, { force: true });
}

async function shortParent(place: Place): Promise<string> {
  for (const candidate of [tmpdir(), '/tmp']) {
    if (!(await isThere(candidate))) continue;
    const parent = await realpath(candidate);
    if (!fitsSocket(path.join(parent, `${temporaryPrefix}XXXXXX`))) continue;
    if (!place.user || !firstClosed(await wayTo(parent), place.user)) return parent;
  }
  const reason = 'its path is too long for a socket, and no temporary directory will do instead';
  throw directoryUnusable({ path: place.home, reason });
}

async function closeToOthers(directory: string, { user }: Place): Promise<void> {
  await chmod(directory, 0o700);
  if (user) await chown(directory, user.uid, user.gid);
}

async function isOurs(directory: string, { user }: Place): Promise<boolean> {
  if (!path.basename(directory).startsWith(temporaryPrefix) || !(await isThere(directory))) return false;
  const found = await lstat(directory);
  return found.isDirectory() && [user?.uid, process.getuid?.()].includes(found.uid);
}

function noteIn(place: Place): string {
  return path.join(place.home, 'socket-directory');
}
