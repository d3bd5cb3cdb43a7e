export { collectionEngineErrors } from './errors.js';
export type { CollectionModel, FieldModel, FindCollection, StoredCollection } from './model/collection-model.js';
export { compileCollection } from './model/compile-collection.js';
export { defaultRecordLimits } from './request/request-context.js';
export type { RecordAccess, RecordAnswer, RecordLimits, RequestContext } from './request/request-context.js';
export { collectionMigrations } from './storage/collection-migrations.js';
