import { createHash } from 'node:crypto';
import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { exists, readIfExists, writePrivateFile } from './durable-files.js';
import { directoryUnusable, movedClusterMissing, unreachable } from './errors.js';
import { errnoOf, onFiles } from './file-faults.js';
import { describeClosed, firstClosed, type PathFacts } from './reachability.js';
import { chooseServerUser, isRoot, readUsers, type ServerUser } from './server-user.js';
import { factsAlongPath } from './path-facts.js';

/** Where root stores the databases of directories that the server's user cannot access. */
const movedRoot = '/var/lib/drover';

/** Where a cluster is stored and which user its server runs as. */
export interface ClusterLocation {
  /** Real path of the configured directory; contains password and log. */
  readonly directory: string;
  /** Contains cluster, socket and owner file: the directory itself, unless the server's user cannot access it. */
  readonly base: string;
  readonly cluster: string;
  /** Undefined: the user of this process. */
  readonly user: ServerUser | undefined;
  /** Why `base` is not `directory`. */
  readonly movedBecause?: string;
}

/** Finds the cluster of a directory, or decides where to create it. Creates directories but does not change existing ones. */
export async function locateCluster(given: string, wantedUser: string | undefined): Promise<ClusterLocation> {
  return onFiles(given, async () => {
    await makeDirectory(path.resolve(given));
    const directory = await realpath(given);
    const found = await findBase(directory);
    if (!isRoot()) return locationIn(directory, found ?? directory, undefined, 'it was created by root');
    return found === undefined
      ? chooseBase(directory, chooseServerUser(await readUsers(), wantedUser))
      : useExistingBase(directory, found);
  });
}

/** Records in the directory that its cluster is stored elsewhere. Written last: a pointer means that the cluster existed. */
export async function writePointer(location: ClusterLocation): Promise<void> {
  const pointer = pointerIn(location.directory);
  if (location.base === location.directory || (await readIfExists(pointer)) === location.base) return;
  await writePrivateFile(pointer, `${location.base}\n`);
}

async function findBase(directory: string): Promise<string | undefined> {
  const pointed = await readIfExists(pointerIn(directory));
  if (pointed !== undefined && !(await hasCluster(pointed))) {
    throw movedClusterMissing({ pointer: pointerIn(directory), base: pointed });
  }
  if (pointed !== undefined) return pointed;
  // The process may have been killed before it wrote the pointer; the path is deterministic, so the cluster is found again.
  const candidates = isRoot() ? [directory, movedBase(directory)] : [directory];
  for (const base of candidates) if (await hasCluster(base)) return base;
  return undefined;
}

async function useExistingBase(directory: string, base: string): Promise<ClusterLocation> {
  const cluster = path.join(base, 'cluster');
  const { uid, gid } = await stat(cluster);
  if (uid === 0) {
    const reason = 'it is owned by root, and PostgreSQL refuses to run as root (chown it to the user postgres)';
    throw directoryUnusable({ path: cluster, reason });
  }
  // PostgreSQL must own its files, so their owner takes precedence over the configured user.
  const name = (await readUsers()).find((user) => user.uid === uid)?.name ?? `with id ${uid}`;
  const user = { name, uid, gid };
  const closed = await closedTo(user, base);
  if (closed) throw unreachable({ path: cluster, user: name, closed: closed.path });
  const closedNow = base === directory ? undefined : await closedTo(user, directory);
  return locationIn(directory, base, user, closedNow ? whyMoved(user, closedNow) : 'it was created there');
}

async function chooseBase(directory: string, user: ServerUser): Promise<ClusterLocation> {
  const closed = await closedTo(user, directory);
  if (!closed) return locationIn(directory, directory, user, '');
  const base = movedBase(directory);
  await onFiles(base, () => makeDirectory(base));
  const closedToo = await closedTo(user, base);
  if (closedToo) throw unreachable({ path: base, user: user.name, closed: closedToo.path });
  return locationIn(directory, base, user, whyMoved(user, closed));
}

function locationIn(
  directory: string,
  base: string,
  user: ServerUser | undefined,
  movedBecause: string,
): ClusterLocation {
  const location = { directory, base, cluster: path.join(base, 'cluster'), user };
  return base === directory ? location : { ...location, movedBecause };
}

function whyMoved(user: ServerUser, closed: PathFacts): string {
  return `PostgreSQL refuses to run as root, and the user ${user.name} cannot access ${describeClosed(closed)}`;
}

async function closedTo(user: ServerUser, directory: string): Promise<PathFacts | undefined> {
  return firstClosed(await factsAlongPath(directory), user);
}

/**
 * Creates a directory and its missing parents one by one, because the recursive mkdir of Node hides the error of a read-only
 * disk. Root grants others search permission, whatever the umask, but no read permission.
 */
async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory);
    await chmod(directory, isRoot() ? 0o711 : 0o700);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' && path.dirname(directory) !== directory) {
      await makeDirectory(path.dirname(directory));
      await makeDirectory(directory);
    } else if (errnoOf(error) !== 'EEXIST' || !(await stat(directory)).isDirectory()) {
      throw error;
    }
  }
}

function hasCluster(base: string): Promise<boolean> {
  return exists(path.join(base, 'cluster'));
}

function pointerIn(directory: string): string {
  return path.join(directory, 'moved-to');
}

function movedBase(directory: string): string {
  return path.join(movedRoot, createHash('sha256').update(directory).digest('hex').slice(0, 16));
}
