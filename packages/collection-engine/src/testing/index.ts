export { collectionTestSchema, createCollectionTables, testCollection } from './collection-tables.js';
export { callOperation, testContext, testDependencies, testRequest } from './record-requests.js';
export { insertRows } from './record-rows.js';
export type { StoredRow } from './record-rows.js';
