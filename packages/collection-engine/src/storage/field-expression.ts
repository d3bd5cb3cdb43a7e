import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, Sql, sql } from '../sql/sql.js';
import { timeText } from './time-expression.js';

/** The schema of the tables of records. */
export const recordsSchema = 'drover_records';

export const tableOf = (collection: Pick<CollectionModel, 'table'>): Sql => identifier(recordsSchema, collection.table);

/**
 * Returns the expression for the value of a stored field, of the type that it is compared and sorted by. Indexes are made over the
 * same expression, so a filter, an order and an index always agree.
 *
 * A JSONB document holds dates and times as text in ISO 8601 and UTC, which sorts like the time: PostgreSQL cannot index a cast from
 * text to a time, because it depends on the settings of the session.
 */
export function fieldExpression(
  { storageMode }: Pick<CollectionModel, 'storageMode'>,
  field: FieldModel,
  alias: Sql,
): Sql {
  if (storageMode === 'PHYSICAL_TABLE') return sql`${alias}.${identifier(field.column)}`;
  const key = constant(field.column);
  const text = sql`(${alias}.data ->> ${key})`;
  switch (field.traits.kind) {
    case 'text':
      return text;
    case 'date':
    case 'datetime':
      return sql`(${text} collate "C")`;
    case 'integer':
      return sql`(${text}::bigint)`;
    case 'number':
      return field.type === 'DOUBLE' ? sql`(${text}::double precision)` : sql`(${text}::numeric)`;
    case 'boolean':
      return sql`(${text}::boolean)`;
    case 'reference':
      return sql`(${text}::uuid)`;
    case 'json':
    case 'list':
      return sql`(${alias}.data -> ${key})`;
  }
}

/** Returns the value of a system attribute for JSON. */
export function systemValue(column: string, alias: Sql): Sql {
  const value = sql`${alias}.${identifier(column)}`;
  return column.endsWith('_at') ? timeText(value) : value;
}

/**
 * Returns the value of a stored field for JSON, the same in both storage modes. A document holds a number that a double cannot hold as
 * a text, because JavaScript cannot write it as a JSON number; here it becomes one, with all digits.
 */
export function storedJson(
  { storageMode }: Pick<CollectionModel, 'storageMode'>,
  { type, column, traits }: FieldModel,
  alias: Sql,
): Sql {
  if (storageMode === 'PHYSICAL_TABLE') {
    const value = sql`${alias}.${identifier(column)}`;
    return traits.kind === 'datetime' ? timeText(value) : value;
  }
  const isLarge = (type === 'LONG' || type === 'CURRENCY') && traits.column !== undefined;
  return isLarge
    ? sql`(${alias}.data ->> ${constant(column)})::${Sql.code(traits.column)}`
    : sql`${alias}.data -> ${constant(column)}`;
}
