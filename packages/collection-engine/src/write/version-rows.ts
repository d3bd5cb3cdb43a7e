import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, empty, identifier, join, sql, Sql } from '../sql/sql.js';
import { sealedJson } from '../values/field-cipher.js';
import { inputColumns } from './input-rows.js';
import { storedFields } from './stored-record-json.js';
import { slot } from './statement-slots.js';

const event = identifier('event');
const values = identifier('values');
const { index, id, version, given } = inputColumns;

const ofRecord = (collection: CollectionModel): Sql =>
  sql`${event}.tenant_id = ${slot('tenant')} and ${event}.collection_id = ${constant(collection.id)} and ${event}.record_id = ${slot('id')}`;

/** A field that was renamed since has its value under its first name, which is usually that of its column. */
const valueOf = ({ name, column }: FieldModel): Sql =>
  sql`coalesce(${event}.after -> ${constant(name)}, ${event}.after -> ${constant(column)})`;

/**
 * Returns the rows of `input` for a save that gives a record the values that it had in the version of the slot `at`. The values stay in
 * PostgreSQL, so that large decimals keep all digits.
 */
export function versionInput(collection: CollectionModel, fields: readonly FieldModel[]): Sql {
  const document = sql`(select to_jsonb(old) from (select ${join(
    fields.map((field) => sql`${valueOf(field)} as ${identifier(field.column)}`),
    sql`, `,
  )}) as old)`;
  const head = sql`select 0 as ${index}, ${event}.record_id as ${id}, ${slot('version')}::bigint as ${version},
    ${columnNames(fields)} as ${given}`;
  const isFound = sql`${ofRecord(collection)} and ${event}.version = ${slot('at')}::bigint and ${event}.after is not null`;
  if (collection.storageMode === 'JSONB') {
    return sql`${head}, (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(${document}) where value <> 'null') as data
      from drover.record_events as ${event} where ${isFound}`;
  }
  const columns = fields.map(({ column, traits }) => sql`${identifier(column)} ${Sql.code(traits.column ?? 'text')}`);
  return sql`${head}, ${values}.* from drover.record_events as ${event}
    cross join lateral jsonb_to_record(${document}) as ${values}(${join(columns, sql`, `)}) where ${isFound}`;
}

const columnNames = (fields: readonly FieldModel[]): Sql =>
  sql`array[${join(
    fields.map(({ column }) => constant(column)),
    sql`, `,
  )}]::text[]`;

/** A version of a record in its history. */
export interface VersionRow {
  readonly version: number;
  readonly kind: string;
  readonly actor: string;
  readonly at: Date;
  /** The record after the change as JSON, encrypted values marked; null if it was deleted. */
  readonly record: string | null;
}

/** Returns the query for the versions of a record, newest first: those before the slot `version`, or the one of the slot `at`. */
export function versionsQuery(collection: CollectionModel, which: 'one' | 'list'): Sql {
  const condition =
    which === 'one'
      ? sql` and ${event}.version = ${slot('at')}::bigint`
      : sql` and (${slot('version')}::bigint is null or ${event}.version < ${slot('version')}::bigint)`;
  return sql`select ${event}.version, ${event}.kind, ${event}.actor, ${event}.at, (${versionRecord(collection)})::text as record
    from drover.record_events as ${event} where ${ofRecord(collection)}${condition}
    order by ${event}.id desc${which === 'list' ? sql` limit ${slot('limit')}::bigint` : empty}`;
}

/** Returns the record of an event with its encrypted values marked, under the names that the fields have now. */
function versionRecord(collection: CollectionModel): Sql {
  const encrypted = storedFields(collection).filter(({ type }) => type === 'ENCRYPTED');
  if (encrypted.length === 0) return sql`${event}.after`;
  const record = encrypted.reduce((json, field) => {
    // The ciphertext under the first name of the field, unless another field has that name now.
    const former = collection.fields.has(field.column) ? empty : sql` - ${constant(field.column)}::text`;
    return sql`${json}${former} || jsonb_build_object(${constant(field.name)}, ${valueOf(field)})`;
  }, sql`${event}.after`);
  const value = identifier('member');
  const marked = encrypted.map(
    (field) =>
      sql`when ${constant(field.name)} then ${sealedJson(collection, field, sql`substr(${value}.value #>> '{}', 3)`)}`,
  );
  return sql`(select json_object_agg(${value}.key, case ${value}.key ${join(marked, sql` `)} else ${value}.value::json end)
    from jsonb_each(${record}) as ${value})`;
}
