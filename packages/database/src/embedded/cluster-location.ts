import { createHash } from 'node:crypto';
import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isThere, readIfThere, writePrivateFile } from './durable-files.js';
import { directoryUnusable, movedClusterMissing, unreachable } from './errors.js';
import { errnoOf, onFiles } from './file-faults.js';
import { describeClosed, firstClosed, type PathFacts } from './reachability.js';
import { chooseServerUser, isRoot, readUsers, type ServerUser } from './server-user.js';
import { wayTo } from './way-to.js';

/** Where root keeps the databases of directories that the server's user cannot reach. */
const movedRoot = '/var/lib/drover';

/** Where a database lives and whom it runs as. */
export interface Place {
  /** The real path of the directory we were given: password and log stay here. */
  readonly directory: string;
  /** Holds the cluster, the socket and the claim: the directory itself, unless the server's user cannot reach it. */
  readonly home: string;
  readonly cluster: string;
  /** Undefined: as ourselves. */
  readonly user: ServerUser | undefined;
  /** Why home is not the directory. */
  readonly movedBecause?: string;
}

/** Finds the cluster of a directory, or decides where to make it. Creates directories, changes none that was there. */
export async function choosePlace(given: string, wantedUser: string | undefined): Promise<Place> {
  return onFiles(given, async () => {
    await makeDirectory(path.resolve(given));
    const directory = await realpath(given);
    const found = await findHome(directory);
    if (!isRoot()) return placeIn(directory, found ?? directory, undefined, 'root started it here once');
    return found === undefined
      ? chooseHome(directory, chooseServerUser(await readUsers(), wantedUser))
      : keepHome(directory, found);
  });
}

/** Says in the directory that its database lives elsewhere. Written last: a pointer means that a cluster was there. */
export async function leavePointer(place: Place): Promise<void> {
  const pointer = pointerIn(place.directory);
  if (place.home === place.directory || (await readIfThere(pointer)) === place.home) return;
  await writePrivateFile(pointer, `${place.home}\n`);
}

async function findHome(directory: string): Promise<string | undefined> {
  const pointed = await readIfThere(pointerIn(directory));
  if (pointed !== undefined && !(await hasCluster(pointed))) {
    throw movedClusterMissing({ pointer: pointerIn(directory), home: pointed });
  }
  if (pointed !== undefined) return pointed;
  // Moved, but killed before the pointer was written: the place is always the same, so it is found again.
  const candidates = isRoot() ? [directory, movedHome(directory)] : [directory];
  for (const home of candidates) if (await hasCluster(home)) return home;
  return undefined;
}

async function keepHome(directory: string, home: string): Promise<Place> {
  const cluster = path.join(home, 'cluster');
  const { uid, gid } = await stat(cluster);
  if (uid === 0) {
    const reason = 'it belongs to root, as whom PostgreSQL refuses to run (chown it to the user postgres)';
    throw directoryUnusable({ path: cluster, reason });
  }
  // PostgreSQL insists on owning its files, so their owner outranks every other choice of user.
  const name = (await readUsers()).find((user) => user.uid === uid)?.name ?? `with id ${uid}`;
  const user = { name, uid, gid };
  const closed = await closedTo(user, home);
  if (closed) throw unreachable({ path: cluster, user: name, closed: closed.path });
  const closedNow = home === directory ? undefined : await closedTo(user, directory);
  return placeIn(directory, home, user, closedNow ? whyMoved(user, closedNow) : 'it was created there');
}

async function chooseHome(directory: string, user: ServerUser): Promise<Place> {
  const closed = await closedTo(user, directory);
  if (!closed) return placeIn(directory, directory, user, '');
  const home = movedHome(directory);
  await onFiles(home, () => makeDirectory(home));
  const closedToo = await closedTo(user, home);
  if (closedToo) throw unreachable({ path: home, user: user.name, closed: closedToo.path });
  return placeIn(directory, home, user, whyMoved(user, closed));
}

function placeIn(directory: string, home: string, user: ServerUser | undefined, movedBecause: string): Place {
  const place = { directory, home, cluster: path.join(home, 'cluster'), user };
  return home === directory ? place : { ...place, movedBecause };
}

function whyMoved(user: ServerUser, closed: PathFacts): string {
  return `PostgreSQL refuses to run as root, and the user ${user.name} may not enter ${describeClosed(closed)}`;
}

async function closedTo(user: ServerUser, directory: string): Promise<PathFacts | undefined> {
  return firstClosed(await wayTo(directory), user);
}

/**
 * Makes the directory and what is missing above it, one by one, since Node's own way hides why a read-only disk refuses.
 * As root others must be able to pass through, whatever the umask says; they see nothing on the way.
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

function hasCluster(home: string): Promise<boolean> {
  return isThere(path.join(home, 'cluster'));
}

function pointerIn(directory: string): string {
  return path.join(directory, 'moved-to');
}

function movedHome(directory: string): string {
  return path.join(movedRoot, createHash('sha256').update(directory).digest('hex').slice(0, 16));
}
