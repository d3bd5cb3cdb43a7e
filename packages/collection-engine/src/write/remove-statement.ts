import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { anyId, constant, empty, identifier, join, sql, type Sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import { writeTime } from '../storage/time-expression.js';
import { eventJson, eventRows } from './event-rows.js';
import { forgottenOfRemoved, hiddenRows } from './hidden-references.js';
import { isOwnRow } from './next-rows.js';
import { slot } from './statement-slots.js';

/** A row of the result of a removal: a record that was removed, or one whose version is not the expected one. */
export interface RemovedRow {
  readonly id: string;
  /** Before the removal. */
  readonly version: number;
  readonly removed: boolean;
}

const row = identifier('row');
const target = identifier('target');
const written = identifier('written');

/** Selects the records with the ids of the slot `ids`. */
export const withIds = (alias: Sql): Sql => sql`${alias}.id = ${anyId(slot('ids'))}`;

/** Selects the records that refer by `field` to one of the ids of the slot `ids`. */
export const referringBy =
  (collection: CollectionModel, field: FieldModel) =>
  (alias: Sql): Sql =>
    sql`${fieldExpression(collection, field, alias)} = ${anyId(slot('ids'))}`;

/** Selects those of the records that belong to the record of the slot `parent`. */
export const childrenOf =
  (collection: CollectionModel, field: FieldModel, which: (alias: Sql) => Sql) =>
  (alias: Sql): Sql =>
    sql`${fieldExpression(collection, field, alias)} = ${slot('parent')}::uuid and ${which(alias)}`;

/**
 * Returns the statement that deletes the records that `which` selects, and writes their events: all of them, or none if there are
 * more than the slot `limit`. It returns one row more than the limit then.
 *
 * The rows are locked FOR UPDATE, also if they are only marked as deleted: writes that set a reference to them wait.
 */
export function removeStatement(
  collection: CollectionModel,
  which: (alias: Sql) => Sql,
  { isConditional }: { readonly isConditional: boolean },
): Sql {
  const isExpected = isConditional
    ? sql`(${slot('version')}::bigint is null or ${target}.version = ${slot('version')})`
    : sql`true`;
  const table = tableOf(collection);
  const where = sql`${isOwnRow(row)} and ${row}.id = ${target}.id and ${isExpected} and ${isWithinLimit}`;
  const recorded = sql`, ${eventJson(collection, target)} as before, null::jsonb as after`;
  const removal = collection.isSoftDelete
    ? sql`update ${table} as ${row} set deleted_at = now(), updated_at = ${writeTime}, updated_by = ${slot('actor')}, version = ${row}.version + 1
        from ${target} where ${where} returning ${row}.id, ${row}.version${recorded}`
    : sql`delete from ${table} as ${row} using ${target} where ${where} returning ${row}.id, ${row}.version + 1 as version${recorded}`;
  const parts = [
    sql`target as materialized (${lockedForChange(collection, sql`${which(row)} and ${row}.deleted_at is null`)})`,
    sql`written as (${removal})`,
    ...eventRows(collection, sql`'deleted'`),
    ...(collection.isSoftDelete ? [] : forgottenOfRemoved(collection)),
  ];
  return sql`with ${join(parts, sql`,\n`)}\n${result}`;
}

/**
 * Returns the statement that sets a reference to null in the records that refer to one of the ids of the slot `ids`. With `isHidden` they
 * can be restored, and the reference with them; a record that refers to itself keeps that, since it comes back together with it.
 */
export function clearStatement(
  collection: CollectionModel,
  field: FieldModel,
  { isHidden }: { readonly isHidden: boolean },
): Sql {
  const isOther = isHidden ? sql` and ${fieldExpression(collection, field, row)} <> ${row}.id` : empty;
  const cleared =
    collection.storageMode === 'JSONB'
      ? sql`data = ${row}.data - ${constant(field.column)}`
      : sql`${identifier(field.column)} = null`;
  const parts = [
    sql`target as materialized (${lockedForChange(collection, sql`${referringBy(collection, field)(row)}${isOther}`)})`,
    sql`written as (update ${tableOf(collection)} as ${row} set ${cleared}, updated_at = ${writeTime}, updated_by = ${slot('actor')},
      version = ${row}.version + 1 from ${target}
      where ${isOwnRow(row)} and ${row}.id = ${target}.id and ${isWithinLimit}
      returning ${row}.id, ${row}.version, ${eventJson(collection, target)} as before, ${eventJson(collection, row)} as after)`,
    ...(isHidden ? [hiddenRows(collection, field)] : []),
    ...eventRows(collection, sql`'updated'`),
  ];
  return sql`with ${join(parts, sql`,\n`)}\n${result}`;
}

/** Locks one row more than the slot `limit` at most, so that the caller sees when there are too many. */
export function lockedForChange(collection: CollectionModel, which: Sql): Sql {
  return sql`select ${row}.* from ${tableOf(collection)} as ${row} where ${isOwnRow(row)} and ${which}
    order by ${row}.id limit ${slot('limit')}::bigint + 1 for update`;
}

/** Nothing is changed if there are more. */
export const isWithinLimit = sql`(select count(*) from ${target}) <= ${slot('limit')}::bigint`;

const result = sql`select ${target}.id, ${target}.version, ${written}.id is not null as removed
  from ${target} left join ${written} on ${written}.id = ${target}.id`;
