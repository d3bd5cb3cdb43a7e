import { randomUUID } from 'node:crypto';
import type { CollectionDefinition } from '@drover/contracts';
import { isUniqueViolation, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { compileCollection } from '../model/compile-collection.js';
import { chooseColumns, chooseTable } from '../storage/choose-names.js';
import { createStorage } from '../storage/create-storage.js';
import { publishCollection } from './catalog-transaction.js';
import {
  collectionStatements as statements,
  toCollection,
  type CatalogedCollection,
  type CollectionRow,
} from './collection-rows.js';
import { collectionExists, collectionQuotaExceeded } from './store-errors.js';

export interface NewCollection {
  readonly tenantId: string;
  readonly definition: CollectionDefinition;
  readonly actor: string;
}

export const defaultMaxCollections = 200;

/**
 * Creates a collection with its table and indexes in a transaction that holds the lock of the tenant. Throws COLLECTION_EXISTS or
 * COLLECTION_QUOTA_EXCEEDED.
 */
export async function insertCollection(
  tx: Transaction,
  { bus, maxCollections }: { readonly bus: Pick<EventBus, 'publish'>; readonly maxCollections: number },
  { tenantId, definition, actor }: NewCollection,
): Promise<CatalogedCollection> {
  const { name } = definition;
  const id = randomUUID();
  const table = chooseTable(definition);
  const columns = chooseColumns(definition);
  const values = [
    id,
    tenantId,
    name,
    actor,
    maxCollections,
    JSON.stringify(definition),
    table,
    JSON.stringify(columns),
  ];
  const inserted = await tx.query(statements.insert, values).catch((error: unknown) => {
    throw isUniqueViolation(error) ? collectionExists({ collection: name }, error) : error;
  });
  if (inserted.length === 0) throw collectionQuotaExceeded({ limit: maxCollections });
  const collection = { id, tenantId, version: 1, definition, table, columns };
  await tx.query(createStorage(compileCollection(collection)).render().text);
  await publishCollection(bus, tx, collection, false);
  const [row] = await tx.query<CollectionRow>(statements.findById, [id]);
  if (!row) throw new Error('the collection that was inserted is missing');
  return toCollection(row);
}
