/** File descriptors of a worker process besides stdin, stdout and stderr. */
export const descriptors = { wire: 3, journal: 4, workerData: 5 } as const;
/** The environment variable with the launch parameters of a worker process. */
export const processVariable = 'ISOLATED_WORKER';
/** The property of `workerData` with the launch parameters of a worker thread. */
export const threadDataKey = 'isolatedWorker';

/**
 * The journal of a worker: the id of the request that it started last, readable after the worker died. Threads write it to
 * shared memory, processes to an unlinked file. One id is enough, because a worker starts requests in the order of their ids.
 */
export const journalBytes = 4;

/** True when a worker whose journal contains `last` had started `id`. 0 means that it wrote nothing. */
export function hadStartedBy(last: number, id: number): boolean {
  // Compared as a difference, because ids overflow 32 bits in a long-lived worker.
  return last !== 0 && ((last - id) | 0) >= 0;
}
