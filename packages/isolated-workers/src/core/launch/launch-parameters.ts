/** Descriptors of a worker process beside the usual three. */
export const descriptors = { wire: 3, lifeline: 4, journal: 5 } as const;
/** Tells a process that it is a worker, and what its host expects. */
export const processVariable = 'ISOLATED_WORKER';
/** Under this name in `workerData`, a thread finds what its host expects. */
export const threadDataKey = 'isolatedWorker';
