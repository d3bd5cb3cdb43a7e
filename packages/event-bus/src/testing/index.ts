export { bird, birds, eventBusContract, recorder } from './event-bus-contract.js';
export type { EventBusWorld } from './event-bus-contract.js';
