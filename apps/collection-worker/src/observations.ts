import { recordEventReaders, type RecordEventObservation } from '@drover/collection-engine';
import { databaseReaders, type DatabaseObservation } from '@drover/database';
import { eventBusReaders, type EventBusObservation } from '@drover/event-bus';
import { apiReaders, type ApiObservation } from '@drover/http-edge';
import { count, type Readers } from '@drover/service-kit';

export type CollectionWorkerObservation =
  | DatabaseObservation
  | EventBusObservation
  | RecordEventObservation
  | ApiObservation
  | { readonly kind: 'collections.schema-awaited' }
  | {
      /** A request failed with a definition that was not current any more, and was run again with the current one. */
      readonly kind: 'collections.retried';
      readonly requestId: string;
      readonly route: string;
    };

export const collectionWorkerReaders: Readers<CollectionWorkerObservation> = {
  ...databaseReaders,
  ...eventBusReaders,
  ...recordEventReaders,
  ...apiReaders,
  'collections.schema-awaited': {
    level: 'info',
    say: () => 'waiting for the tables of collections, which the control plane creates',
    isInternal: true,
  },
  'collections.retried': {
    level: 'debug',
    say: (o) => `request ${o.requestId} (${o.route}) ran again with the current definition`,
    metrics: [
      count('drover_records_retried_total', 'Requests that ran again because a definition had changed meanwhile'),
    ],
  },
};
