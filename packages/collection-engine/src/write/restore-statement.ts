import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, join, sql, type Sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import { writeTime } from '../storage/time-expression.js';
import { eventJson, eventRows } from './event-rows.js';
import { isOwnRow } from './next-rows.js';
import { isWithinLimit, lockedForChange, referringBy, withIds } from './remove-statement.js';
import type { CheckedReference } from './save-statement.js';
import { slot } from './statement-slots.js';

/** A record that was restored. */
export interface RestoredRow {
  readonly id: string;
  readonly version: number;
  /** When it had been deleted. */
  readonly deleted_at: string;
  readonly record: string | null;
}

const row = identifier('row');
const target = identifier('target');
const written = identifier('written');

/**
 * Returns the statement that takes the mark of deletion from records: those of the slot `ids`, or those that refer to them by a field
 * and were deleted at the time of the slot `at`, by the same cascade.
 */
export function restoreStatement(
  collection: CollectionModel,
  { by, answer }: { readonly by?: FieldModel; readonly answer?: ((alias: Sql) => Sql) | undefined },
): Sql {
  const which = by
    ? sql`${referringBy(collection, by)(row)} and ${row}.deleted_at = ${slot('at')}::timestamptz`
    : sql`${withIds(row)} and ${row}.deleted_at is not null`;
  const parts = [
    sql`target as materialized (${lockedForChange(collection, which)})`,
    sql`written as (update ${tableOf(collection)} as ${row} set deleted_at = null, updated_at = ${writeTime}, updated_by = ${slot('actor')},
      version = ${row}.version + 1 from ${target}
      where ${isOwnRow(row)} and ${row}.id = ${target}.id and ${isWithinLimit}
      returning ${row}.id, ${row}.version, ${eventJson(collection, target)} as before, ${eventJson(collection, row)} as after,
        ${answer ? answer(row) : sql`null::text`} as record)`,
    ...eventRows(collection, sql`'restored'`),
  ];
  return sql`with ${join(parts, sql`,\n`)}
    select ${target}.id, ${written}.version, ${target}.deleted_at::text as deleted_at, ${written}.record
    from ${target} left join ${written} on ${written}.id = ${target}.id`;
}

/** Returns the query for the references of the record of the slot `id` that lead nowhere; it locks those that exist. */
export function danglingQuery(collection: CollectionModel, references: readonly CheckedReference[]): Sql {
  const name = (at: number): Sql => identifier(`reference ${at}`);
  const self = sql`select * from ${tableOf(collection)} as ${row} where ${isOwnRow(row)} and ${row}.id = ${slot('id')}`;
  const locked = references.map(({ field, target: referenced }, at) => {
    const value = fieldExpression(collection, field, written);
    return sql`${name(at)} as materialized (select ${row}.id from ${tableOf(referenced)} as ${row}
      where ${isOwnRow(row)} and ${row}.deleted_at is null and ${row}.id = any(array(select ${value} from ${written})) for key share)`;
  });
  const found = references.map(({ field }, at) => {
    const value = fieldExpression(collection, field, written);
    return sql`select ${constant(field.name)} as field, ${value}::text as value from ${written}
      where ${value} is not null and ${value} not in (select id from ${name(at)})`;
  });
  return sql`with ${written} as materialized (${self}), ${join(locked, sql`,\n`)} ${join(found, sql` union all `)}`;
}
