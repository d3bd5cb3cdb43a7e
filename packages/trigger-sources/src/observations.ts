import type { Readers } from '@drover/service-kit';
import { queueReaders, type QueueObservation } from './queue/observations.js';

/** What any trigger source may say. */
export type TriggerSourceObservation = QueueObservation;

export const triggerSourceReaders: Readers<TriggerSourceObservation> = { ...queueReaders };
