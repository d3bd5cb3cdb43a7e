export { PlainLane, type PlainLaneOptions } from './server/plain-lane.js';
export type { PlainExchange } from './server/plain-connection.js';
export type { PlainLimits, PlainRequest } from './server/plain-request.js';
