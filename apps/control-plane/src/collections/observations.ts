import { count, type Readers } from '@drover/service-kit';

export interface DefinitionObservation {
  readonly kind: 'collection.defined';
  readonly tenantId: string;
  readonly collection: string;
  readonly change: 'created' | 'changed' | 'deleted';
  /** After the change; of a deleted collection the last one. */
  readonly version: number;
  readonly keyId: string;
}

export const definitionReaders: Readers<DefinitionObservation> = {
  'collection.defined': {
    level: 'info',
    say: (o) =>
      `collection ${o.collection} of ${o.tenantId} was ${o.change} with API key ${o.keyId}, version ${o.version}`,
    metrics: [
      count('drover_collection_definitions_total', 'Definitions of collections that were created, changed or deleted', {
        labelNames: ['change'],
        labels: (o) => ({ change: o.change }),
      }),
    ],
  },
};
