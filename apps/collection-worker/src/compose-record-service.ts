import {
  aggregateRecords,
  createRecords,
  deleteRecord,
  describeApiWith,
  deleteRecords,
  exportRecordsWith,
  getRecord,
  getRecordVersion,
  importRecords,
  listChanges,
  listRecords,
  listRecordVersions,
  RecordEventTail,
  replaceRecord,
  replaceRecords,
  restoreRecord,
  restoreRecordVersion,
  runOperations,
  searchTenantWith,
  streamChanges,
  updateRecord,
  type CollectionStore,
  updateRecords,
  type RecordService,
} from '@drover/collection-engine';
import type { Database } from '@drover/database';
import type { Clock, Lifecycle, Observe, Randomness } from '@drover/service-kit';
import type { CollectionWorkerObservation } from './observations.js';

interface RecordServiceIo {
  readonly database: Database;
  readonly store: CollectionStore;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionWorkerObservation>;
}

/** The operations of the records API, with the parts that they share. */
export function composeRecordService({ store, ...io }: RecordServiceIo): {
  readonly service: RecordService;
  readonly parts: readonly Lifecycle[];
  /** To be called after a request has written. */
  readonly onWritten: () => void;
} {
  const tail = new RecordEventTail(io);
  return {
    service: {
      listRecords,
      createRecords,
      replaceRecords,
      getRecord,
      updateRecord,
      replaceRecord,
      updateRecords,
      deleteRecord,
      deleteRecords,
      restoreRecord,
      listRecordVersions,
      getRecordVersion,
      restoreRecordVersion,
      aggregateRecords,
      runOperations,
      importRecords,
      exportRecords: exportRecordsWith(listRecords),
      listChanges: listChanges(tail),
      streamChanges: streamChanges(tail),
      describeApi: describeApiWith(store),
      searchTenant: searchTenantWith(store),
    },
    parts: [tail],
    onWritten: () => tail.wrote(),
  };
}
