import { randomUUID } from 'node:crypto';
import type { CollectionDefinition } from '@drover/contracts';
import { databaseMigrations, type Migrations, type Queryable } from '@drover/database';
import { eventBusMigrations } from '@drover/event-bus';
import type { CollectionModel, StoredCollection } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import { chooseColumns, chooseTable } from '../storage/choose-names.js';
import { collectionMigrations } from '../storage/collection-migrations.js';
import { requirePatternIndexes } from '../storage/pattern-index.js';
import { createStorage } from '../storage/create-storage.js';

/** Everything that `createTestDatabase` needs for collections. */
export const collectionTestSchema: readonly Migrations[] = [
  databaseMigrations,
  eventBusMigrations,
  collectionMigrations,
];

/** Makes the model of a definition as the first version in the store would be; nothing is written. */
export function testCollection(
  definition: CollectionDefinition,
  stored: Partial<StoredCollection> = {},
): CollectionModel {
  return compileCollection({
    id: randomUUID(),
    tenantId: 'acme',
    version: 1,
    definition,
    table: chooseTable(definition),
    columns: chooseColumns(definition),
    ...stored,
  });
}

/** Creates the table, sequences and indexes of a collection, and its rows in the catalog of collections. */
export async function createCollectionTables(target: Queryable, collection: CollectionModel): Promise<void> {
  const { id, tenantId, name, version, definition, table, fields } = collection;
  const columns = Object.fromEntries([...fields.values()].map((field) => [field.name, field.column]));
  await requirePatternIndexes(target, [definition]);
  await target.query(createStorage(collection).render().text);
  await target.query(
    'insert into drover.collections (id, tenant_id, name, version, created_by) values ($1, $2, $3, $4, $5)',
    [id, tenantId, name, version, 'test'],
  );
  await target.query(
    `insert into drover.collection_versions (collection_id, version, definition, table_name, columns, created_by)
     values ($1, $2, $3, $4, $5, $6)`,
    [id, version, JSON.stringify(definition), table, JSON.stringify(columns), 'test'],
  );
}
