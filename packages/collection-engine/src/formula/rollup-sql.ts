import { type CollectionModel, type FieldModel } from '../model/collection-model.js';
import { constant, identifier, join, sql, type Sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import { fieldCodec } from '../values/field-codec.js';

const childAlias = identifier('rollup_child');

/**
 * Returns the value of a ROLLUP_SUMMARY field over the row `alias` as NUMERIC: a subquery over the index of the reference. Null if
 * the child collection, or a field of it, is gone.
 */
export function rollupSql({ definition }: FieldModel, child: CollectionModel | undefined, alias: Sql): Sql {
  const { rollup } = definition;
  const via = child?.fields.get(rollup?.via ?? '');
  if (!rollup || !child || !via) return sql`null::numeric`;
  const value = child.fields.get(rollup.field ?? '');
  if (rollup.function !== 'COUNT' && !value) return sql`null::numeric`;
  const conditions = [
    sql`${childAlias}.tenant_id = ${alias}.tenant_id`,
    sql`${fieldExpression(child, via, childAlias)} = ${alias}.id`,
    sql`${childAlias}.deleted_at is null`,
    ...Object.entries(rollup.where ?? {}).map(([name, wanted]) => hasValue(child, name, wanted)),
  ];
  const summary = summarySql(rollup.function, value && fieldExpression(child, value, childAlias));
  return sql`(select ${summary} from ${tableOf(child)} ${childAlias} where ${join(conditions, sql` and `)})`;
}

/** Sums of doubles are made of NUMERIC, which has no overflow. */
function summarySql(name: 'COUNT' | 'SUM' | 'MIN' | 'MAX' | 'AVG', value: Sql = sql`null`): Sql {
  switch (name) {
    case 'COUNT':
      return sql`count(*)::numeric`;
    case 'SUM':
      return sql`coalesce(sum(${value}::numeric), 0)`;
    case 'MIN':
      return sql`min(${value}::numeric)`;
    case 'MAX':
      return sql`max(${value}::numeric)`;
    case 'AVG':
      return sql`trim_scale(round(avg(${value}::numeric), 12))`;
  }
}

/** Values of a definition are constants of the statement: its text depends on the definition alone. */
function hasValue(child: CollectionModel, name: string, wanted: unknown): Sql {
  const field = child.fields.get(name);
  const stored = field && fieldCodec(field).parse(wanted);
  if (!field || stored === undefined) return sql`false`;
  const expression = fieldExpression(child, field, childAlias);
  if (stored === null) return sql`${expression} is null`;
  return typeof stored === 'object' ? sql`false` : sql`${expression} = ${constant(String(stored))}`;
}
