import { systemColumns, type CollectionModel, type FieldModel } from '../model/collection-model.js';
import { constant, identifier, sql, type Sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
import type { FormulaExpression, SystemAttribute } from './formula-expression.js';
import { limited, operations } from './operations.js';

/** Where a formula reads: the row `alias` of a collection. `rollup` gives the value of ROLLUP_SUMMARY fields. */
export interface FormulaRow {
  readonly collection: CollectionModel;
  readonly alias: Sql;
  readonly rollup: (field: FieldModel, alias: Sql) => Sql;
}

const sqlTypes = {
  number: sql`numeric`,
  text: sql`text`,
  boolean: sql`boolean`,
  date: sql`date`,
  datetime: sql`timestamptz`,
};
const orders: ReadonlySet<string> = new Set(['less', 'lessOrEqual', 'greater', 'greaterOrEqual']);

/**
 * Returns a formula as an expression over a row: NUMERIC, TEXT, BOOLEAN, DATE or TIMESTAMPTZ in both storage modes. It holds no
 * parameter, repeats no operand, and fails for no value.
 */
export function formulaSql(expression: FormulaExpression, row: FormulaRow): Sql {
  switch (expression.kind) {
    case 'literal': {
      const { type, value } = expression;
      return value === null ? sql`null::${sqlTypes[type]}` : sql`${constant(String(value))}::${sqlTypes[type]}`;
    }
    case 'field':
      return fieldSql(expression.field, expression.type, row);
    case 'attribute':
      return attributeSql(expression.name, row.alias);
    case 'operation': {
      const { name, setting = '' } = expression;
      const operands = expression.operands.map((operand) => {
        const operandSql = formulaSql(operand, row);
        return orders.has(name) && operand.type === 'text' ? sql`(${operandSql} collate "C")` : operandSql;
      });
      return operations[name].sql(operands, setting);
    }
  }
}

function fieldSql(field: FieldModel, type: FormulaExpression['type'], { collection, alias, rollup }: FormulaRow): Sql {
  if (type === 'other' && collection.storageMode === 'JSONB') return sql`(${alias}.data ->> ${constant(field.column)})`;
  const isRollup = field.type === 'ROLLUP_SUMMARY';
  const value = isRollup ? rollup(field, alias) : fieldExpression(collection, field, alias);
  if (type === 'other') return value;
  if (type !== 'number') return sql`${value}::${sqlTypes[type]}`;
  return isRollup || field.type === 'DOUBLE' ? limited(sql`round(${value}::numeric, 12)`) : sql`${value}::numeric`;
}

/** Times of formulas have milliseconds, like stored ones. */
function attributeSql(name: SystemAttribute, alias: Sql): Sql {
  switch (name) {
    case 'id':
      return sql`${alias}.id::text`;
    case 'version':
      return sql`${alias}.version::numeric`;
    case 'createdAt':
    case 'updatedAt':
      return sql`date_trunc('milliseconds', ${alias}.${identifier(systemColumns[name])})`;
    case 'createdBy':
    case 'updatedBy':
      return sql`${alias}.${identifier(systemColumns[name])}`;
  }
}
