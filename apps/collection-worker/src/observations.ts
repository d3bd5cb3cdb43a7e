import { recordEventReaders, type RecordEventObservation } from '@drover/collection-engine';
import { databaseReaders, type DatabaseObservation } from '@drover/database';
import { eventBusReaders, type EventBusObservation } from '@drover/event-bus';
import { apiReaders, type ApiObservation } from '@drover/http-edge';
import { count, type ComputedMetric, type Readers } from '@drover/service-kit';

export type CollectionWorkerObservation =
  | DatabaseObservation
  | EventBusObservation
  | RecordEventObservation
  | ApiObservation
  | { readonly kind: 'collections.schema-awaited' }
  | { readonly kind: 'worker.registered'; readonly workerId: string; readonly incarnation: number }
  | { readonly kind: 'worker.unheard'; readonly workerId: string; readonly reason: string }
  | { readonly kind: 'worker.displaced'; readonly workerId: string; readonly reason: string }
  | { readonly kind: 'worker.handed-over'; readonly workerId: string }
  | { readonly kind: 'worker.socket-unusable'; readonly file: string; readonly reason: string }
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
  'worker.registered': {
    level: 'info',
    say: (o) => `registered with the control plane as ${o.workerId} (incarnation ${o.incarnation})`,
    isInternal: true,
  },
  'worker.unheard': {
    level: 'warn',
    say: (o) => `${o.workerId} serves on without the control plane, and tries to reach it again: ${o.reason}`,
  },
  'worker.displaced': { level: 'error', say: (o) => o.reason },
  'worker.handed-over': {
    level: 'info',
    say: (o) => `other workers have taken over all collections of ${o.workerId}`,
    isInternal: true,
  },
  'worker.socket-unusable': {
    level: 'warn',
    say: (o) =>
      `cannot listen on the Unix socket ${o.file} (${o.reason}): gateways use the port. Set DROVER_WORKER_SOCKET_DIR to a directory that exists, that this user can write to, and whose path has at most 90 characters`,
  },
  'collections.retried': {
    level: 'debug',
    say: (o) => `request ${o.requestId} (${o.route}) ran again with the current definition`,
    metrics: [
      count('drover_records_retried_total', 'Requests that ran again because a definition had changed meanwhile'),
    ],
  },
};

/** `collections` returns how many are in each state. */
export function membershipMetrics(collections: () => Iterable<readonly [string, number]>): ComputedMetric[] {
  return [
    {
      name: 'drover_collection_worker_collections',
      help: 'Collections that are assigned to the worker, by their state on it',
      type: 'gauge',
      labelNames: ['status'],
      *read() {
        for (const [status, value] of collections()) yield { labels: { status }, value };
      },
    },
  ];
}
