export { startWorkerServer, transfer } from './core/server/worker-server.js';
export type * from './types/messages.js';
export type * from './types/server.js';
