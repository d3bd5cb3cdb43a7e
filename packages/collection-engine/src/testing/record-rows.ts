import type { Queryable } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import { parameter, sql } from '../sql/sql.js';
import { tableOf } from '../storage/field-expression.js';

/** A record as it is stored: its id, values by name of the field, and columns of the system. */
export interface StoredRow {
  readonly id: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly system?: Readonly<Record<string, unknown>>;
}

/** Writes rows past the engine. Values are those that codecs make; absent ones are null. */
export async function insertRows(
  target: Queryable,
  collection: CollectionModel,
  rows: readonly StoredRow[],
): Promise<void> {
  const isJsonb = collection.storageMode === 'JSONB';
  const now = new Date().toISOString();
  const documents = rows.map(({ id, values, system }) => {
    const columns = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [collection.fields.get(name)?.column ?? name, value]),
    );
    return {
      tenant_id: collection.tenantId,
      id,
      version: 1,
      created_at: now,
      updated_at: now,
      created_by: 'test',
      updated_by: 'test',
      ...(isJsonb ? { collection_id: collection.id, data: columns } : columns),
      ...system,
    };
  });
  const table = tableOf(collection);
  const { text, values } =
    sql`insert into ${table} select * from jsonb_populate_recordset(null::${table}, ${parameter(JSON.stringify(documents))}::jsonb)`.render();
  await target.query(text, values);
}
