import { integer, milliseconds } from '@drover/service-kit';

export const collectionVariables = {
  maxCollections: integer('DROVER_MAX_COLLECTIONS', {
    min: 1,
    max: 10_000,
    default: 200,
    about: 'Maximum number of collections of a tenant.',
  }),
  collectionCleanupDelayMs: milliseconds('DROVER_COLLECTION_CLEANUP_DELAY_MS', {
    default: 60_000,
    about:
      'Time after which columns of removed fields and tables of deleted collections are dropped. Workers that have not heard of the change use them until then.',
  }),
};
