import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, sql, Sql } from '../sql/sql.js';
import { nameWithin } from './collection-indexes.js';
import { recordsSchema, tableOf } from './field-expression.js';

const mostDigits = 18;

export function autoNumbersOf({ fields }: CollectionModel): readonly FieldModel[] {
  return [...fields.values()].filter(({ type }) => type === 'AUTO_NUMBER');
}

/** Returns the statement that creates the sequence of an auto number if it is missing; it is dropped with the table. */
export function createSequence(collection: CollectionModel, field: FieldModel): Sql {
  const start = Sql.code(String(field.definition.autoNumber?.start ?? 1));
  const name = identifier(recordsSchema, sequenceName(collection, field));
  return sql`create sequence if not exists ${name} minvalue 0 start with ${start} owned by ${tableOf(collection)}.id`;
}

/** Returns the expression that takes the next number, with its prefix and zeros. */
export function nextAutoNumber(collection: CollectionModel, field: FieldModel): Sql {
  const { prefix = '', digits = 1 } = field.definition.autoNumber ?? {};
  const sequence = identifier(recordsSchema, sequenceName(collection, field)).render().text;
  const format = `FM${'9'.repeat(mostDigits - digits)}${'0'.repeat(digits)}`;
  return sql`(${constant(prefix)} || to_char(nextval(${constant(sequence)}::regclass), ${constant(format)}))`;
}

export function sequenceName({ table }: Pick<CollectionModel, 'table'>, { column }: FieldModel): string {
  return nameWithin(table, 'n', column);
}
