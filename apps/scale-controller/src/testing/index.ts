export { scoreAll } from '../simulation/testing/score-table.js';
export type { TraceResult } from '../simulation/testing/score-table.js';
export type { TraceScore } from '../simulation/testing/trace-simulator.js';
export { SimClock, SimViolation } from '../simulation/testing/sim-clock.js';
