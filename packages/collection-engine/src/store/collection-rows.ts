import type { CollectionDefinition } from '@drover/contracts';
import { prepared } from '@drover/database';
import type { StoredCollection } from '../model/collection-model.js';

/** A collection with its current version, and when and by whom both were made. */
export interface CatalogedCollection extends StoredCollection {
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly updatedAt: Date;
  readonly updatedBy: string;
}

/** A version of a definition. */
export interface CollectionVersion {
  readonly version: number;
  readonly definition: CollectionDefinition;
  readonly createdAt: Date;
  readonly createdBy: string;
}

export interface CollectionRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly version: number;
  readonly definition: CollectionDefinition;
  readonly table_name: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly created_at: Date;
  readonly created_by: string;
  readonly updated_at: Date;
  readonly updated_by: string;
}

const columns = `c.id, c.tenant_id, c.version, v.definition, v.table_name, v.columns,
   c.created_at, c.created_by, v.created_at as updated_at, v.created_by as updated_by
   from drover.collections c join drover.collection_versions v on v.collection_id = c.id and v.version = c.version`;

export const collectionStatements = {
  find: prepared('collection-find', `select ${columns} where c.tenant_id = $1 and c.name = $2`),
  findById: prepared('collection-find-by-id', `select ${columns} where c.id = $1`),
  list: prepared('collection-list', `select ${columns} where c.tenant_id = $1 order by c.name`),
  listAll: prepared('collection-list-all', `select ${columns} order by c.tenant_id, c.name`),
  /** Inserts nothing if the tenant has its share: the caller holds the lock of the tenant, so no other insert comes between. */
  insert: prepared(
    'collection-insert',
    `with inserted as (
       insert into drover.collections (id, tenant_id, name, version, created_by)
       select $1, $2, $3, 1, $4
       where (select count(*) from drover.collections where tenant_id = $2) < $5
       returning id
     )
     insert into drover.collection_versions (collection_id, version, definition, table_name, columns, created_by)
     select id, 1, $6, $7, $8, $4 from inserted
     returning collection_id`,
  ),
  /** Returns nothing if the collection has another version by now. */
  nextVersion: prepared(
    'collection-next-version',
    `with changed as (
       update drover.collections set version = version + 1, name = $6 where id = $1 and version = $2 returning id, version
     )
     insert into drover.collection_versions (collection_id, version, definition, table_name, columns, created_by)
     select c.id, c.version, $3, v.table_name, $4, $5
     from changed c join drover.collection_versions v on v.collection_id = c.id and v.version = $2
     returning version`,
  ),
  remove: prepared('collection-remove', `delete from drover.collections where id = $1`),
  versions: prepared(
    'collection-versions',
    `select v.version, v.definition, v.created_at, v.created_by
     from drover.collections c join drover.collection_versions v on v.collection_id = c.id
     where c.tenant_id = $1 and c.name = $2 order by v.version desc`,
  ),
  /** Current name of the collection that had a name last; a name that is in use belongs to the collection that has it. */
  renamed: prepared(
    'collection-renamed',
    `select c.name from drover.collections c join drover.collection_versions v on v.collection_id = c.id
     where c.tenant_id = $1 and v.definition ->> 'name' = $2 and c.name <> $2 order by v.created_at desc limit 1`,
  ),
  /** Columns of all versions: also those of removed fields, of which values may be stored. */
  takenColumns: prepared(
    'collection-taken-columns',
    `select distinct value as "column" from drover.collection_versions, jsonb_each_text(columns) where collection_id = $1`,
  ),
  /** Names of the other collections of a tenant with a field that refers to a name. */
  referring: prepared(
    'collection-referring',
    `select c.name from drover.collections c
     join drover.collection_versions v on v.collection_id = c.id and v.version = c.version
     where c.tenant_id = $1 and c.name <> $2 and exists (
       select from jsonb_array_elements(v.definition -> 'fields') field
       where field -> 'references' ->> 'collection' = $2 or field -> 'rollup' ->> 'collection' = $2
     ) order by c.name`,
  ),
  missing: prepared(
    'collection-missing',
    `select name from unnest($2::text[]) name
     where not exists (select from drover.collections c where c.tenant_id = $1 and c.name = name.name collate "C")`,
  ),
  scheduleCleanup: prepared(
    'collection-cleanup-schedule',
    `insert into drover.collection_cleanups (table_name, collection_id, due_at)
     values ($1, $2, now() + $3 * interval '1 millisecond')
     on conflict (table_name) do update set due_at = greatest(collection_cleanups.due_at, excluded.due_at)`,
  ),
};

export function toCollection(row: CollectionRow): CatalogedCollection {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    version: row.version,
    definition: row.definition,
    table: row.table_name,
    columns: row.columns,
    createdAt: row.created_at,
    createdBy: row.created_by,
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  };
}
