export { faultyDriver } from './faulty-driver.js';
export type { FaultyDriver } from './faulty-driver.js';
export type { Fault, FaultPlan, InjectedFault } from './fault-plan.js';
