import type { Readers } from '@drover/service-kit';
import { queueReaders, type QueueObservation } from './queue/observations.js';

/** The observations of all trigger sources. */
export type TriggerSourceObservation = QueueObservation;

export const triggerSourceReaders: Readers<TriggerSourceObservation> = { ...queueReaders };
