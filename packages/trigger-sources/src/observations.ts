import type { Readers } from '@drover/service-kit';
import { queueReaders, type QueueObservation } from './queue/observations.js';
import { triggerStoreReaders, type TriggerStoreObservation } from './store/observations.js';

/** The observations of all trigger sources. */
export type TriggerSourceObservation = QueueObservation | TriggerStoreObservation;

export const triggerSourceReaders: Readers<TriggerSourceObservation> = { ...queueReaders, ...triggerStoreReaders };
