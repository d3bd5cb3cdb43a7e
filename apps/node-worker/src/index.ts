export { nodeWorkerVariables } from './config.js';
export { reconnectCapability } from './stream/host-facts.js';
export { nodeWorkerFile } from './worker-file.js';
