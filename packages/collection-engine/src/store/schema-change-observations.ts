import { count, type Readers } from '@drover/service-kit';

export type SchemaChangeObservation =
  | {
      readonly kind: 'collections.changed';
      readonly collection: string;
      readonly version: number;
      readonly durationMs: number;
    }
  | { readonly kind: 'collections.change-refused'; readonly collection: string; readonly reason: string }
  | { readonly kind: 'collections.change-interrupted'; readonly collection: string; readonly reason: string }
  | { readonly kind: 'collections.cleaned-up'; readonly table: string };

export const schemaChangeReaders: Readers<SchemaChangeObservation> = {
  'collections.changed': {
    level: 'info',
    say: (o) =>
      `collection "${o.collection}" has version ${o.version} now; its table was changed in ${Math.round(o.durationMs)} ms`,
    metrics: [count('drover_collection_changes_total', 'Changes of collections that altered their tables')],
  },
  'collections.change-refused': {
    level: 'warn',
    say: (o) => `the change of collection "${o.collection}" was refused: ${o.reason}`,
    metrics: [
      count('drover_collection_changes_refused_total', 'Changes of collections that records were in the way of'),
    ],
  },
  'collections.change-interrupted': {
    level: 'warn',
    say: (o) => `the change of collection "${o.collection}" was interrupted: ${o.reason}; it goes on`,
    metrics: [
      count('drover_collection_changes_interrupted_total', 'Failures of changes of collections, which are repeated'),
    ],
  },
  'collections.cleaned-up': {
    level: 'debug',
    say: (o) => `the table ${o.table} has nothing left of former versions`,
  },
};
