import type { CollectionModel } from '../model/collection-model.js';
import { join, sql, type Sql } from '../sql/sql.js';
import { autoNumbersOf, createSequence } from './auto-numbers.js';
import { createIndex, indexesOf } from './collection-indexes.js';
import { createTable } from './create-table.js';

/** Returns the statements that create everything a new collection stores its records in, as one text for one round trip. */
export function createStorage(collection: CollectionModel): Sql {
  return join(
    [
      createTable(collection),
      ...autoNumbersOf(collection).map((field) => createSequence(collection, field)),
      ...indexesOf(collection).map((index) => createIndex(collection, index, 'at once')),
    ],
    sql`; `,
  );
}
