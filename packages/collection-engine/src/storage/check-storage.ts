import type { Queryable } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import { identifier, join, sql } from '../sql/sql.js';
import { tableOf } from './field-expression.js';

/**
 * Rejects with the error of PostgreSQL if the table of a collection, or a column of it, does not exist or cannot be read. Reads one row,
 * so that the first request finds the table in memory.
 */
export async function checkStorage(database: Queryable, collection: CollectionModel): Promise<void> {
  const stored = [...collection.fields.values()].filter(({ traits }) => traits.column !== undefined);
  const columns = collection.storageMode === 'JSONB' ? ['data'] : stored.map(({ column }) => column);
  const names = ['id', ...columns].map((name) => identifier(name));
  await database.query(sql`select ${join(names, sql`, `)} from ${tableOf(collection)} limit 1`.render().text);
}
