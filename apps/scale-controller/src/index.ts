export { composeScaleController } from './compose.js';
export type { ScaleControllerComposition, ScaleControllerParts } from './compose.js';
export { parseScaleControllerConfig, scaleControllerVariables } from './config.js';
export type { ScaleControllerConfig } from './config.js';
export { scaleControllerErrors } from './errors.js';
export { leadershipStates } from './leadership/leadership.js';
export { scaleControllerReaders } from './observations.js';
export { placedWorkerStates } from './placement/placed-worker-states.js';
export { placementMetrics } from './reports/placement-metrics.js';
