import { count, type Readers } from '@drover/service-kit';

export type CollectionFleetObservation =
  | {
      readonly kind: 'collection-fleet.started';
      readonly workerId: string;
      readonly pool: string;
      readonly cause: 'room' | 'load';
    }
  | { readonly kind: 'collection-fleet.drained'; readonly workerId: string; readonly cause: 'idle' | 'gone' }
  | {
      readonly kind: 'collection-fleet.ended';
      readonly workerId: string;
      readonly cause: 'drained' | 'unregistered' | 'unfit';
    }
  | { readonly kind: 'collection-fleet.lost'; readonly workerId: string }
  | {
      readonly kind: 'collection-fleet.call-failed';
      readonly call: string;
      readonly workerId: string;
      readonly reason: string;
    };

const starts = { room: 'collections have no worker', load: 'its workers are busy' };
const drains = { idle: 'its pool can do without it', gone: 'its process has ended' };
const ends = {
  drained: 'it has no collection any more',
  unregistered: 'it did not register',
  unfit: 'its heartbeats have stopped or it cannot serve',
};
const byCause = {
  labelNames: ['cause'] as const,
  labels: ({ cause }: { readonly cause: string }) => ({ cause }),
};

export const collectionFleetReaders: Readers<CollectionFleetObservation> = {
  'collection-fleet.started': {
    level: 'info',
    isInternal: true,
    say: (o) => `starts the collection worker ${o.workerId} of the pool ${o.pool}: ${starts[o.cause]}`,
    metrics: [
      count('drover_scale_collection_workers_started_total', 'Collection workers that the scale controller started', {
        ...byCause,
      }),
    ],
  },
  'collection-fleet.drained': {
    level: (o) => (o.cause === 'gone' ? 'warn' : 'info'),
    isInternal: true,
    say: (o) => `the collections of the worker ${o.workerId} move to others: ${drains[o.cause]}`,
    metrics: [
      count('drover_scale_collection_workers_drained_total', 'Collection workers that the scale controller drained', {
        ...byCause,
      }),
    ],
  },
  'collection-fleet.ended': {
    level: (o) => (o.cause === 'drained' ? 'info' : 'warn'),
    isInternal: true,
    say: (o) => `ends the collection worker ${o.workerId}: ${ends[o.cause]}`,
    metrics: [
      count('drover_scale_collection_workers_ended_total', 'Collection workers that the scale controller ended', {
        ...byCause,
      }),
    ],
  },
  'collection-fleet.lost': {
    level: 'warn',
    say: (o) => `the collection worker ${o.workerId} ended without being told to`,
    metrics: [
      count('drover_scale_collection_workers_lost_total', 'Started collection workers that ended by themselves'),
    ],
  },
  'collection-fleet.call-failed': {
    level: 'warn',
    say: (o) => `could not ${o.call} the collection worker ${o.workerId}, and tries again: ${o.reason}`,
    maxLines: { perSecond: 1, by: (o) => o.call },
  },
};
