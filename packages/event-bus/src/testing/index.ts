export { MemoryEventBus } from '../memory/memory-event-bus.js';
export { durableEventBusContract } from './durable-event-bus-contract.js';
export type { DurableWorld } from './durable-event-bus-contract.js';
export type { Assignment, BusModule } from './durable/child-program.js';
export type { OpenedBus } from './durable/ledger.js';
export { bird, birds, eventBusContract, recorder } from './event-bus-contract.js';
export type { EventBusWorld } from './event-bus-contract.js';
