import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, join, sql, type Sql } from '../sql/sql.js';
import { nextAutoNumber } from '../storage/auto-numbers.js';
import { writeTime } from '../storage/time-expression.js';
import { eventJson } from './event-rows.js';
import { inputColumns } from './input-rows.js';
import { slot } from './statement-slots.js';
import { storedFields } from './stored-record-json.js';

/** Columns of a table of records beside those of its fields, without the tenant and the collection. */
const headColumns = ['id', 'version', 'created_at', 'updated_at', 'created_by', 'updated_by', 'deleted_at'];

/** Returns all columns of the table of a collection that a write sets, in the order of `createdRows` and `updatedRows`. */
export function tableColumns(collection: CollectionModel): Sql[] {
  return collection.storageMode === 'JSONB'
    ? ['tenant_id', 'collection_id', ...headColumns, 'data'].map((name) => identifier(name))
    : ['tenant_id', ...headColumns, ...storedFields(collection).map(({ column }) => column)].map((name) =>
        identifier(name),
      );
}

/** Returns the condition that a row belongs to the tenant; every statement has it for every table. */
export const isOwnRow = (alias: Sql): Sql => sql`${alias}.tenant_id = ${slot('tenant')}`;

/** Column of the next rows with the JSON of the record before the write, for its event. */
export const beforeColumn = identifier('#before');

const { index, id, given } = inputColumns;
const input = identifier('input');
const target = identifier('target');

/** Returns the query for the rows that records of `input` become, with the columns of the table, `#` and `#before`. */
export function createdRows(collection: CollectionModel, where: Sql = sql`true`): Sql {
  const head = sql`${input}.${index}, ${owner(collection)}, ${input}.${id} as id, 1::bigint as version, ${writeTime} as created_at, ${writeTime} as updated_at,
    ${slot('actor')}::text as created_by, ${slot('actor')}::text as updated_by, null::timestamptz as deleted_at, ${eventJson(collection, undefined)} as ${beforeColumn}`;
  const fields = storedFields(collection);
  if (collection.storageMode === 'JSONB') {
    const numbers = fields.filter(({ type }) => type === 'AUTO_NUMBER');
    const data = numbers.reduce(
      (document, field) =>
        sql`${document} || jsonb_build_object(${constant(field.column)}, ${nextAutoNumber(collection, field)})`,
      sql`${input}.data`,
    );
    return sql`select ${head}, ${data} as data from ${input} where ${where}`;
  }
  const values = fields.map((field) =>
    field.type === 'AUTO_NUMBER'
      ? sql`${nextAutoNumber(collection, field)} as ${identifier(field.column)}`
      : sql`${input}.${identifier(field.column)}`,
  );
  return sql`select ${join([head, ...values], sql`, `)} from ${input} where ${where}`;
}

/**
 * Returns the query for the rows of `target` with the values of `input` in place of theirs. With `isUniform` all records have values
 * for exactly `fields`; otherwise each says which it has.
 */
export function updatedRows(
  collection: CollectionModel,
  { fields, isUniform }: { readonly fields: readonly FieldModel[]; readonly isUniform: boolean },
  matches: Sql = sql`${input}.${id} = ${target}.id`,
): Sql {
  const head = sql`${input}.${index}, ${owner(collection)}, ${target}.id, ${target}.version + 1 as version, ${target}.created_at,
    ${writeTime} as updated_at, ${target}.created_by, ${slot('actor')}::text as updated_by, ${target}.deleted_at,
    ${eventJson(collection, target)} as ${beforeColumn}`;
  const from = sql`from ${target} join ${input} on ${matches}`;
  if (collection.storageMode === 'JSONB') {
    // A record that may be new has defaults, too, which do not change an existing one.
    const data = isUniform ? sql`${input}.data` : givenData;
    return sql`select ${head}, (${target}.data - ${input}.${given}) || ${data} as data ${from}`;
  }
  const changed = new Set(fields);
  const values = storedFields(collection).map((field) => {
    const column = identifier(field.column);
    if (!changed.has(field)) return sql`${target}.${column}`;
    if (isUniform) return sql`${input}.${column}`;
    return sql`case when ${constant(field.column)} = any(${input}.${given}) then ${input}.${column} else ${target}.${column} end as ${column}`;
  });
  return sql`select ${join([head, ...values], sql`, `)} ${from}`;
}

const givenData = sql`(select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(${input}.data) where key = any(${input}.${given}))`;

const owner = ({ storageMode, id: collectionId }: CollectionModel): Sql =>
  storageMode === 'JSONB'
    ? sql`${slot('tenant')}::text as tenant_id, ${constant(collectionId)}::uuid as collection_id`
    : sql`${slot('tenant')}::text as tenant_id`;
