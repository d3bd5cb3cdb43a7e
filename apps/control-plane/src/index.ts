export { composeControlPlane, controlPlaneProcess } from './compose.js';
export { controlPlaneVariables, parseControlPlaneConfig } from './config.js';
export type { ControlPlaneConfig } from './config.js';
export { newApiKey, parseApiKey } from './access/api-key-format.js';
export { controlPlaneErrors } from './errors.js';
export { controlPlaneReaders } from './observations.js';
export type { ControlPlaneObservation } from './observations.js';
export { version } from './version.js';
