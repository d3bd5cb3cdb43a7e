export { subscriptionStates } from './event-delivery.js';
export type {
  BarrierParticipant,
  BarrierSubject,
  EventBus,
  SubscribeOptions,
  Subscription,
} from './event-bus.js';
export { eventBusReaders } from './observations.js';
export type { EventBusObservation } from './observations.js';
export { eventBusMigrations } from './postgres/event-bus-migrations.js';
export { PostgresEventBus } from './postgres/postgres-event-bus.js';
export type { PostgresEventBusOptions } from './postgres/postgres-event-bus.js';
