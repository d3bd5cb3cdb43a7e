import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { compileDefault } from './compile-formula.js';
import { textOfDecimal } from './decimal.js';
import { evaluateFormula, type FormulaRecord } from './evaluate-formula.js';
import type { FormulaExpression } from './formula-expression.js';
import { dayMs, type FormulaValue } from './operations.js';

/** A default that a formula gives. */
export interface FormulaDefault {
  readonly field: FieldModel;
  /** Returns the value as JSON, before the constraints of the field are checked; null for none. */
  readonly valueOf: (record: FormulaRecord) => string | number | boolean | null;
}

const compiled = new WeakMap<CollectionModel, readonly FormulaDefault[]>();

/** Returns the defaults by formula of a collection, compiled once per model. Each may read what those before it have given. */
export function formulaDefaults(collection: CollectionModel): readonly FormulaDefault[] {
  const known = compiled.get(collection);
  if (known) return known;
  const fields = [...collection.fields.values()].filter(({ definition }) => definition.defaultFormula !== undefined);
  const defaults = fields.map((field) => {
    const expression = compileDefault(collection, field);
    // It was checked with its definition. A new record without the value that it should get would be wrong.
    if ('problem' in expression) {
      throw new TypeError(
        `The default of "${field.name}" of collection "${collection.name}" is invalid: ${expression.problem}. Correct it.`,
      );
    }
    return {
      field,
      valueOf: (record: FormulaRecord) => toJson(evaluateFormula(expression, record), expression.type, field),
    };
  });
  compiled.set(collection, defaults);
  return defaults;
}

const exactTypes: ReadonlySet<string> = new Set(['LONG', 'CURRENCY', 'PERCENT']);

function toJson(
  value: FormulaValue,
  type: FormulaExpression['type'],
  field: FieldModel,
): string | number | boolean | null {
  if (typeof value === 'bigint') {
    const text = textOfDecimal(value);
    return exactTypes.has(field.type) ? text : Number(text);
  }
  if (typeof value !== 'number') return value;
  if (type === 'date') return new Date(value * dayMs).toISOString().slice(0, 10);
  return new Date(value).toISOString();
}
