import type { StoredValue } from '../values/value-problem.js';
import { doubleToDecimal, toDecimal } from './decimal.js';
import type { FormulaExpression, SystemAttribute } from './formula-expression.js';
import { dayMs, operations, type FormulaValue } from './operations.js';

/** A record as a formula reads it. */
export interface FormulaRecord {
  /** Stored values by column; an absent one is null. */
  readonly values: Readonly<Record<string, StoredValue | undefined>>;
  /** Attributes of the platform in the form of JSON. */
  readonly attributes?: Readonly<Partial<Record<SystemAttribute, string | number>>>;
  readonly nowMs: number;
}

/** Evaluates a formula in Node, with the result that `formulaSql` gives in PostgreSQL. */
export function evaluateFormula(expression: FormulaExpression, record: FormulaRecord): FormulaValue {
  switch (expression.kind) {
    case 'literal':
      return toValue(expression.value, expression.type, false);
    case 'field': {
      const { field, type } = expression;
      return toValue(record.values[field.column] ?? null, type, field.type === 'DOUBLE');
    }
    case 'attribute':
      return toValue(record.attributes?.[expression.name] ?? null, expression.type, false);
    case 'operation': {
      const operands = expression.operands.map((operand) => evaluateFormula(operand, record));
      return operations[expression.name].evaluate(operands, expression.setting ?? '', record.nowMs);
    }
  }
}

function toValue(value: StoredValue, type: FormulaExpression['type'], isDouble: boolean): FormulaValue {
  if (value === null) return null;
  if (typeof value === 'object') return true; // only ISBLANK reads it
  switch (type) {
    case 'number':
      return isDouble && typeof value === 'number' ? doubleToDecimal(value) : toDecimal(String(value));
    case 'date':
      return Date.parse(`${value as string}T00:00:00Z`) / dayMs;
    case 'datetime':
      return Date.parse(value as string);
    case 'text':
    case 'boolean':
      return value;
    case 'other':
      return true;
  }
}
