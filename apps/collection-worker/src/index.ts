export { collectionWorkerProcess } from './compose.js';
export { collectionWorkerVariables } from './config.js';
export { collectionWorkerErrors } from './errors.js';
export { collectionWorkerReaders, membershipMetrics } from './observations.js';
