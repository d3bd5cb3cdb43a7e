import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { anyId, constant, identifier, join, sql, type Sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import { writeTime } from '../storage/time-expression.js';
import { eventJson, eventRows } from './event-rows.js';
import { inputColumns } from './input-rows.js';
import { isOwnRow } from './next-rows.js';
import { slot } from './statement-slots.js';

/*
 * References to records that are marked as deleted. A lookup to such a record reads as null everywhere, in answers, filters, rules,
 * indexes and events, because its column is null; `drover.hidden_references` has what it referred to until the record is restored.
 * Every change of what a lookup reads as is a version of its record with an event, also these.
 */

const row = identifier('row');
const target = identifier('target');
const written = identifier('written');
const hidden = identifier('hidden');
const next = identifier('next');
const input = identifier('input');
const referred = identifier('#referred');

/** Whether a soft deletion sets the field to null: details are deleted with their master, and a required lookup prevents the deletion. */
export const isHideable = ({ type, isRequired }: FieldModel): boolean => type === 'LOOKUP' && !isRequired;

/** Returns the part of a statement that remembers what the records of `written` referred to; `target` has them as they were. */
export function hiddenRows(collection: CollectionModel, field: FieldModel): Sql {
  return sql`hidden as (insert into drover.hidden_references (collection_id, record_id, column_name, target_id)
    select ${constant(collection.id)}::uuid, ${target}.id, ${constant(field.column)}, ${fieldExpression(collection, field, target)}
    from ${target} join ${written} on ${written}.id = ${target}.id
    on conflict (collection_id, record_id, column_name) do update set target_id = excluded.target_id)`;
}

/**
 * Returns the statement that gives records their references to those of the slot `ids` back, unless the field has got another value
 * since. It locks a record before what is remembered of it, as a write of the record does.
 */
export function revealStatement(collection: CollectionModel, field: FieldModel): Sql {
  const value = fieldExpression(collection, field, row);
  const revealed =
    collection.storageMode === 'JSONB'
      ? sql`data = ${row}.data || jsonb_build_object(${constant(field.column)}, ${target}.${referred})`
      : sql`${identifier(field.column)} = ${target}.${referred}`;
  const parts = [
    sql`target as materialized (select ${row}.*, ${hidden}.target_id as ${referred}
      from drover.hidden_references as ${hidden} join ${tableOf(collection)} as ${row} on ${row}.id = ${hidden}.record_id
      where ${hidden}.collection_id = ${constant(collection.id)} and ${hidden}.column_name = ${constant(field.column)}
        and ${hidden}.target_id = ${anyId(slot('ids'))} and ${isOwnRow(row)} and ${value} is null
      order by ${row}.id limit ${slot('limit')}::bigint + 1 for update of ${row}, ${hidden})`,
    sql`written as (update ${tableOf(collection)} as ${row} set ${revealed}, updated_at = ${writeTime}, updated_by = ${slot('actor')},
      version = ${row}.version + 1 from ${target}
      where ${isOwnRow(row)} and ${row}.id = ${target}.id and (select count(*) from ${target}) <= ${slot('limit')}::bigint
      returning ${row}.id, ${row}.version, ${eventJson(collection, target)} as before, ${eventJson(collection, row)} as after)`,
    forgotten(collection, written, sql`${constant(field.column)}`),
    ...eventRows(collection, sql`'updated'`),
  ];
  return sql`with ${join(parts, sql`,\n`)} select ${target}.id from ${target}`;
}

/** Returns the part of a statement that forgets what removed records referred to; nothing for a collection without such fields. */
export function forgottenOfRemoved(collection: CollectionModel): Sql[] {
  const columns = [...collection.fields.values()].filter(isHideable).map(({ column }) => constant(column));
  return columns.length === 0 ? [] : [forgotten(collection, written, join(columns, sql`, `))];
}

const forgotten = (collection: CollectionModel, records: Sql, columns: Sql): Sql =>
  sql`forgotten as (delete from drover.hidden_references as ${hidden} using ${records}
    where ${hidden}.collection_id = ${constant(collection.id)} and ${hidden}.record_id = ${records}.id and ${hidden}.column_name in (${columns}))`;

/**
 * Returns the part of a save that forgets references which the request replaces: a value that a client sets, null included, stays when
 * the record that the field referred to is restored. Nothing if the save sets no such field.
 */
export function forgottenOfSaved(collection: CollectionModel, fields: readonly FieldModel[], isFine: Sql): Sql[] {
  const columns = fields.filter(isHideable).map(({ column }) => constant(column));
  if (columns.length === 0) return [];
  const { index, given } = inputColumns;
  return [
    sql`superseded as (delete from drover.hidden_references as ${hidden} using ${next} join ${input} on ${input}.${index} = ${next}.${index}
      where ${hidden}.collection_id = ${constant(collection.id)} and ${hidden}.record_id = ${next}.id
        and ${hidden}.column_name in (${join(columns, sql`, `)}) and ${hidden}.column_name = any(${input}.${given}) and ${isFine})`,
  ];
}
