/** File descriptors of a worker process besides stdin, stdout and stderr. */
export const descriptors = { wire: 3, lifeline: 4, journal: 5 } as const;
/** The environment variable with the launch parameters of a worker process. */
export const processVariable = 'ISOLATED_WORKER';
/** The property of `workerData` with the launch parameters of a worker thread. */
export const threadDataKey = 'isolatedWorker';
