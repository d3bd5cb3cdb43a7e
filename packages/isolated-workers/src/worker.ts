export { startWorkerServer, transfer } from './core/server/worker-server.js';
export type { WorkerServer, WorkerServerOptions } from './core/server/worker-server.js';
export type * from './types/messages.js';
