export { childProcess } from '../core/drivers/child-process/host.js';
export { workerThreads } from '../core/drivers/worker-threads/host.js';
export type * from '../types/driver.js';
