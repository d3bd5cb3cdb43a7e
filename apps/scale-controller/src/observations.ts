import { catalogReaders, type CatalogObservation } from '@drover/application-catalog';
import { databaseReaders, type DatabaseObservation } from '@drover/database';
import { eventBusReaders, type EventBusObservation } from '@drover/event-bus';
import type { Readers } from '@drover/service-kit';
import { collectionFleetReaders, type CollectionFleetObservation } from './collection-workers/observations.js';
import { leadershipReaders, type LeadershipObservation } from './leadership/observations.js';
import { linkServerReaders, type LinkServerObservation } from './link/observations.js';
import { termReaders, type TermObservation } from './term/observations.js';

export type ScaleControllerObservation =
  | CatalogObservation
  | CollectionFleetObservation
  | DatabaseObservation
  | EventBusObservation
  | LeadershipObservation
  | LinkServerObservation
  | TermObservation;

export const scaleControllerReaders: Readers<ScaleControllerObservation> = {
  ...catalogReaders,
  ...collectionFleetReaders,
  ...databaseReaders,
  ...eventBusReaders,
  ...leadershipReaders,
  ...linkServerReaders,
  ...termReaders,
};
