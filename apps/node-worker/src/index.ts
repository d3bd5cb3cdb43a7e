export { nodeWorkerVariables } from './config.js';
export { hostConnectionStates } from './stream/connection-states.js';
export { nodeWorkerFile } from './worker-file.js';
