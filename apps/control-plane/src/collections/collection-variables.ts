import { integer, milliseconds, oneOf } from '@drover/service-kit';

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
  recordEventRetentionMs: milliseconds('DROVER_RECORD_EVENT_RETENTION_MS', {
    default: 7 * 24 * 3_600_000,
    about:
      'Age at which changes of records are removed, but for collections with `history`. Readers of changes that were away for longer must load the records again.',
  }),
  recordEventsOnBus: oneOf('DROVER_RECORD_EVENTS_ON_BUS', ['on', 'off'], {
    default: 'off',
    about:
      'Whether changes of records are published on the event bus (topic `drover.records`), which costs a second write of each.',
  }),
};
