export { workerThreads } from '../core/drivers/worker-threads/host.js';
