export { collectionTestSchema, createCollectionTables, testCollection } from './collection-tables.js';
