import { databaseReaders, type DatabaseObservation } from '@drover/database';
import { eventBusReaders, type EventBusObservation } from '@drover/event-bus';
import type { Readers } from '@drover/service-kit';
import { leadershipReaders, type LeadershipObservation } from './leadership/observations.js';
import { linkServerReaders, type LinkServerObservation } from './link/observations.js';
import { termReaders, type TermObservation } from './term/observations.js';

export type ScaleControllerObservation =
  | DatabaseObservation
  | EventBusObservation
  | LeadershipObservation
  | LinkServerObservation
  | TermObservation;

export const scaleControllerReaders: Readers<ScaleControllerObservation> = {
  ...databaseReaders,
  ...eventBusReaders,
  ...leadershipReaders,
  ...linkServerReaders,
  ...termReaders,
};
