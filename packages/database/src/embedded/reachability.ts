/** Result of `stat` for one file or directory along a path. */
export interface PathFacts {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

const search = 0o1;

/** True if the identity has all of `bits` (4 read, 2 write, 1 search); only the first matching class counts. */
function allows(facts: PathFacts, { uid, gid }: Identity, bits: number): boolean {
  const shift = facts.uid === uid ? 6 : facts.gid === gid ? 3 : 0;
  return ((facts.mode >> shift) & bits) === bits;
}

/**
 * Returns the first directory along a path, from the root down, that the identity may not search; undefined if there is none.
 * Ignores supplementary groups, which a process drops when it changes its user, and access control lists.
 */
export function firstClosed(along: readonly PathFacts[], identity: Identity): PathFacts | undefined {
  return along.find((facts) => !allows(facts, identity, search));
}

/** True if the identity may read and execute this file. */
export function mayExecute(file: PathFacts, identity: Identity): boolean {
  return allows(file, identity, 0o5);
}

/** Describes an inaccessible directory for messages. */
export function describeClosed({ path, mode }: PathFacts): string {
  return `${path} (mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`;
}
