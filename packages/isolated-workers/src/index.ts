export { createWorker } from './core/create-worker.js';
export { childProcess } from './core/drivers/child-process/host.js';
export { workerThreads } from './core/drivers/worker-threads/host.js';
export { createPool } from './core/pool/create-pool.js';
export { poolWorkerStates } from './core/pool/pool-worker.js';
export { startWorkerServer, transfer } from './core/server/worker-server.js';
export { workerStates } from './core/worker-states.js';
export {
  BackpressureError,
  QuarantinedError,
  RequestTimeoutError,
  SerializationError,
  UnknownMessageError,
  UnsupportedOptionError,
  WorkerClosedError,
  WorkerCrashedError,
  WorkerUnavailableError,
} from './types/errors.js';
export type { CrashFacts } from './types/errors.js';
export type * from './types/config.js';
export type * from './types/driver.js';
export type * from './types/messages.js';
export type * from './types/pool.js';
export type * from './types/server.js';
export type * from './types/times.js';
export type * from './types/worker.js';
