/**
 * How far a worker has come, written so that it can be read when the worker is dead, whatever killed it: the number of the
 * request it began with last, in shared memory between threads, in an unlinked file between processes. One number does,
 * since a worker begins with requests in the order of theirs.
 */
export const journalBytes = 4;

/** Whether a worker whose journal says `last` had begun with `id`; 0 says that it never wrote. */
export function hadBegun(last: number, id: number): boolean {
  // As a difference, since ids outgrow what fits in a worker that lives long.
  return last !== 0 && ((last - id) | 0) >= 0;
}
