import type { Readers } from '@drover/service-kit';
import { blobReaders, type BlobObservation } from './blob/observations.js';
import { collectionReaders, type CollectionObservation } from './collection/observations.js';
import { eventHubReaders, type EventHubObservation } from './event-hubs/observations.js';
import { eventGridReaders, type EventGridObservation } from './event-grid/observations.js';
import { queueReaders, type QueueObservation } from './queue/observations.js';
import { serviceBusReaders, type ServiceBusObservation } from './service-bus/observations.js';
import { triggerStoreReaders, type TriggerStoreObservation } from './store/observations.js';
import { tableReaders, type TableObservation } from './table/observations.js';
import { timerReaders, type TimerObservation } from './timer/observations.js';
import { triggerWatchReaders, type TriggerWatchObservation } from './watch/observations.js';

/** The observations of all trigger sources. */
export type TriggerSourceObservation =
  | QueueObservation
  | ServiceBusObservation
  | EventHubObservation
  | BlobObservation
  | TableObservation
  | TimerObservation
  | CollectionObservation
  | EventGridObservation
  | TriggerStoreObservation
  | TriggerWatchObservation;

export const triggerSourceReaders: Readers<TriggerSourceObservation> = {
  ...queueReaders,
  ...serviceBusReaders,
  ...blobReaders,
  ...eventHubReaders,
  ...tableReaders,
  ...timerReaders,
  ...collectionReaders,
  ...eventGridReaders,
  ...triggerStoreReaders,
  ...triggerWatchReaders,
};
