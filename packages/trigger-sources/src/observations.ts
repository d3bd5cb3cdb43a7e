import type { Readers } from '@drover/service-kit';
import { eventHubReaders, type EventHubObservation } from './event-hubs/observations.js';
import { queueReaders, type QueueObservation } from './queue/observations.js';
import { triggerStoreReaders, type TriggerStoreObservation } from './store/observations.js';

/** The observations of all trigger sources. */
export type TriggerSourceObservation = QueueObservation | EventHubObservation | TriggerStoreObservation;

export const triggerSourceReaders: Readers<TriggerSourceObservation> = {
  ...queueReaders,
  ...eventHubReaders,
  ...triggerStoreReaders,
};
