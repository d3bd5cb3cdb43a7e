import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, join, sql, Sql } from '../sql/sql.js';
import { recordsSchema, tableOf } from './field-expression.js';

/** Returns the statement that creates the table of a collection, or its partition of `jsonb_records`; without indexes. */
export function createTable(collection: CollectionModel): Sql {
  if (collection.storageMode === 'JSONB') {
    const parent = identifier(recordsSchema, 'jsonb_records');
    const id = constant(collection.id);
    return sql`create table ${tableOf(collection)} partition of ${parent} (collection_id default ${id}, primary key (id)) for values in (${id})`;
  }
  const columns = [...collection.fields.values()].flatMap((field) => columnOf(field) ?? []);
  return sql`create table ${tableOf(collection)} (${join([systemColumnsSql, ...columns], sql`, `)})`;
}

/** Returns undefined for a field whose value is computed. Values are checked by the engine; the column is nullable. */
export function columnOf({ column, traits }: FieldModel): Sql | undefined {
  return traits.column === undefined ? undefined : sql`${identifier(column)} ${Sql.code(traits.column)}`;
}

const systemColumnsSql = sql`
  tenant_id text collate "C" not null,
  id uuid primary key,
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by text not null,
  updated_by text not null,
  deleted_at timestamptz`;
