/** What `stat` says about one file or directory on the way to a path. */
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

/** Whether that identity has all of `bits` (4 read, 2 write, 1 search) here; only the first class that fits counts. */
function allows(facts: PathFacts, { uid, gid }: Identity, bits: number): boolean {
  const shift = facts.uid === uid ? 6 : facts.gid === gid ? 3 : 0;
  return ((facts.mode >> shift) & bits) === bits;
}

/**
 * The first directory on a way, from the root down, that the identity may not pass; undefined when it gets through.
 * Supplementary groups do not count: a process that changes its user drops them. Access control lists are not seen.
 */
export function firstClosed(way: readonly PathFacts[], identity: Identity): PathFacts | undefined {
  return way.find((facts) => !allows(facts, identity, search));
}

/** Whether the identity may read and execute this file. */
export function mayExecute(file: PathFacts, identity: Identity): boolean {
  return allows(file, identity, 0o5);
}

/** A closed directory in words. */
export function describeClosed({ path, mode }: PathFacts): string {
  return `${path} (mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`;
}
