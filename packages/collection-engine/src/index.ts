export { newApiKey, parseApiKey } from './access/api-key-format.js';
export type { ParsedApiKey } from './access/api-key-format.js';
export { ApiKeyStore } from './access/api-key-store.js';
export { Authenticator } from './access/authenticator.js';
export type { Authentication, Caller } from './access/authenticator.js';
export { accessDenied, accessErrors, authenticationRequired } from './access/errors.js';
export { exportRecordsWith } from './bulk/export-records.js';
export { importRecords } from './bulk/import-records.js';
export { collectionEngineErrors, collectionUnknown } from './errors.js';
export { eventsSwitchedOff } from './events/change-errors.js';
export { changeJson } from './events/change-json.js';
export { countRecordEvents } from './events/count-record-events.js';
export type { FollowOptions, RecordEventBatch } from './events/event-follower.js';
export { FailedChanges } from './events/failed-changes.js';
export type { FailedChange, FailedChangeSelection, TriggeredFunction } from './events/failed-changes.js';
export { recordEventReaders } from './events/observations.js';
export type { RecordEventObservation } from './events/observations.js';
export { RecordEventPublisher } from './events/record-event-publisher.js';
export { RecordEventRetention } from './events/record-event-retention.js';
export { RecordEventTail } from './events/record-event-tail.js';
export type { RecordEvent, RecordEventKind } from './events/record-event.js';
export { checkDefinitions } from './definition/check-definitions.js';
export { collectionDefinitionInvalid } from './definition/definition-errors.js';
export { shapeProblems } from './definition/shape-problems.js';
export { recordsClient } from './description/records-client.js';
export type {
  CollectionModel,
  FieldModel,
  FindCollection,
  FindReferrers,
  StoredCollection,
} from './model/collection-model.js';
export { compileCollection } from './model/compile-collection.js';
export { withRenamedTargets } from './model/renamed-targets.js';
export { aggregateRecords } from './operations/aggregate-records.js';
export { describeApiWith } from './operations/describe-api.js';
export { getRecord } from './operations/get-record.js';
export { listChanges } from './operations/list-changes.js';
export { listRecords } from './operations/list-records.js';
export { searchTenantWith } from './operations/search-tenant.js';
export { streamChanges } from './operations/stream-changes.js';
export { createRecords } from './operations/create-records.js';
export { deleteRecord, deleteRecords } from './operations/delete-records.js';
export { runOperations } from './operations/run-operations.js';
export { getRecordVersion, listRecordVersions } from './operations/record-versions.js';
export { restoreRecord, restoreRecordVersion } from './operations/restore-records.js';
export { replaceRecord, replaceRecords, updateRecord, updateRecords } from './operations/update-records.js';
export { toErrorDocument } from './request/error-document.js';
export type {
  CollectionOperations,
  OperationDependencies,
  ParentRecord,
  RecordOperation,
  RecordDatabase,
  RecordRequest,
  RecordService,
  TenantOperations,
} from './request/record-operation.js';
export { recordAccessDenied } from './request/request-errors.js';
export { defaultRecordLimits } from './request/record-context.js';
export type { RecordAccess, RecordAnswer, RecordLimits, RecordContext } from './request/record-context.js';
export { PreparedStatements } from './sql/prepared-statements.js';
export type { ChangePlan, ChangeRefusal } from './schema-change/change-plan.js';
export { checkStorage } from './storage/check-storage.js';
export { collectionMigrations } from './storage/collection-migrations.js';
export type { CollectionChange, CollectionChangeState } from './store/change-rows.js';
export type { AdmitNames } from './store/catalog-transaction.js';
export { CollectionChanges, renamesIn } from './store/collection-changes.js';
export type { RequestedChange, RequestedSet } from './store/collection-changes.js';
export type { CatalogedCollection, CollectionVersion } from './store/collection-rows.js';
export { CollectionStore } from './store/collection-store.js';
export type { CollectionStoreOptions } from './store/collection-store.js';
export { FieldCipher } from './values/field-cipher.js';
export { schemaChangeReaders } from './store/schema-change-observations.js';
export type { SchemaChangeObservation } from './store/schema-change-observations.js';
export { SchemaChangeRunner } from './store/schema-change-runner.js';
export { PicklistStore } from './store/picklist-store.js';
export type { StoredPicklist } from './store/picklist-store.js';
export { collectionChangeRefused } from './store/store-errors.js';
