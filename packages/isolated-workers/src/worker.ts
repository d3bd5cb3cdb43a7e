export { startWorkerServer } from './core/server/worker-server.js';
export type { WorkerServer, WorkerServerOptions } from './core/server/worker-server.js';
export { transfer } from './core/server/transfer.js';
export type * from './types/messages.js';
export type * from './types/middleware.js';
export type * from './types/serializer.js';
