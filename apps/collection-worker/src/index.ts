export { collectionWorkerProcess } from './compose.js';
export { collectionWorkerVariables } from './config.js';
export { collectionWorkerErrors } from './errors.js';
export { collectionWorkerReaders } from './observations.js';
