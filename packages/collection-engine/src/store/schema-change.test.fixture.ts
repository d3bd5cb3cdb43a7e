import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '@drover/database';
import { eventually } from '@drover/testkit';
import type { CollectionModel } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import { identifier, join, parameter, sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import type { CollectionChange } from './change-rows.js';
import type { CollectionChanges } from './collection-changes.js';
import type { CollectionStore } from './collection-store.js';

/** Writes a record like a worker with this version of the definition: it names only the columns or keys that it knows. */
export async function insertRecord(
  target: Queryable,
  collection: CollectionModel,
  values: Readonly<Record<string, unknown>>,
): Promise<string> {
  const id = randomUUID();
  const system = [collection.tenantId, id, 'key', 'key'].map(parameter);
  const given = Object.entries(values).map(([name, value]) => [columnOfField(collection, name), value] as const);
  const isDocument = collection.storageMode === 'JSONB';
  const columns = isDocument ? [identifier('data')] : given.map(([column]) => identifier(column));
  const stored = isDocument
    ? [parameter(JSON.stringify(Object.fromEntries(given)))]
    : given.map(([, value]) => parameter(value));
  const names = join([sql`tenant_id, id, created_by, updated_by`, ...columns], sql`, `);
  const { text, values: parameters } =
    sql`insert into ${tableOf(collection)} (${names}) values (${join([...system, ...stored], sql`, `)})`.render();
  await target.query(text, parameters);
  return id;
}

/** Copies a record many times. */
export async function multiplyRecord(target: Queryable, { table }: CollectionModel, times: number): Promise<void> {
  const rows = await target.query<{ names: string }>(
    `select string_agg(quote_ident(attname), ', ') as names from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attname <> 'id'`,
    [tableOf({ table }).render().text],
  );
  const names = rows[0]?.names;
  await target.query(
    `insert into drover_records."${table}" (id, ${names})
     select gen_random_uuid(), ${names} from drover_records."${table}", generate_series(1, ${times})`,
  );
}

/** Changes one value like a worker with this version of the definition. */
export async function updateRecord(
  target: Queryable,
  collection: CollectionModel,
  id: string,
  [name, value]: readonly [string, unknown],
): Promise<void> {
  const column = columnOfField(collection, name);
  const assignment =
    collection.storageMode === 'JSONB'
      ? sql`data = data || ${parameter(JSON.stringify({ [column]: value }))}::jsonb`
      : sql`${identifier(column)} = ${parameter(value)}`;
  const { text, values } = sql`update ${tableOf(collection)} set ${assignment} where id = ${parameter(id)}`.render();
  await target.query(text, values);
}

/** Returns the values of a field in all records, as text, in the order of creation. */
export async function readValues(
  target: Queryable,
  collection: CollectionModel,
  name: string,
): Promise<readonly unknown[]> {
  const field = collection.fields.get(name);
  if (!field) throw new Error(`no field ${name}`);
  const value = fieldExpression(collection, field, sql`t`);
  const rows = await target.query<{ value: unknown }>(
    sql`select (${value})::text as value from ${tableOf(collection)} t order by created_at, id`.render().text,
  );
  return rows.map((row) => row.value);
}

export async function currentModel(store: CollectionStore, tenantId: string, name: string): Promise<CollectionModel> {
  const found = await store.find(tenantId, name);
  if (!found) throw new Error(`no collection ${name}`);
  return compileCollection(found);
}

/** Resolves when a change is not running any more. */
export function endOf(changes: CollectionChanges, id: string | undefined): Promise<CollectionChange | undefined> {
  return eventually(async () => {
    const change = await changes.find(id ?? '00000000-0000-0000-0000-000000000000');
    if (change?.state === 'running') throw new Error(`the change is at "${change.step}"`);
    return change;
  });
}

/** Names of everything that the table has beside its primary key: columns of fields, indexes, constraints, triggers. */
export async function tableObjects(database: Database, collection: CollectionModel): Promise<readonly string[]> {
  const rows = await database.query<{ name: string }>(
    `select 'index ' || c.relname || case when i.indisvalid then '' else ' invalid' end as name
       from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = $1::regclass and not i.indisprimary
     union all select 'constraint ' || conname from pg_constraint where conrelid = $1::regclass and contype = 'c'
     union all select 'trigger ' || tgname from pg_trigger where tgrelid = $1::regclass and not tgisinternal
     union all select 'column ' || attname from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped and attname <> all ($2)
     order by 1`,
    [tableOf(collection).render().text, systemColumnNames],
  );
  return rows.map(({ name }) => name);
}

const systemColumnNames = [
  'tenant_id',
  'collection_id',
  'id',
  'version',
  'created_at',
  'updated_at',
  'created_by',
  'updated_by',
  'deleted_at',
  'data',
];

function columnOfField({ fields }: CollectionModel, name: string): string {
  const field = fields.get(name);
  if (!field) throw new Error(`no field ${name}`);
  return field.column;
}
