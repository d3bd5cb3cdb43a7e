import type { ValidationRule } from '@drover/contracts';
import type { CollectionModel } from '../model/collection-model.js';
import { sql, type Sql } from '../sql/sql.js';
import { compileCondition } from './compile-formula.js';
import { evaluateFormula, type FormulaRecord } from './evaluate-formula.js';
import { formulaSql } from './formula-sql.js';

/** An active validation rule: the write fails if its condition is true for the record as it would be stored. */
export interface RuleCondition {
  readonly rule: ValidationRule;
  readonly onCreate: boolean;
  readonly onUpdate: boolean;
  /** For records that are known in Node before they are written: new ones. */
  readonly refuses: (record: FormulaRecord) => boolean;
  /** For records whose other values are in the database: a condition over the row `alias` that is never null. */
  readonly isTrue: (alias: Sql) => Sql;
}

const compiled = new WeakMap<CollectionModel, readonly RuleCondition[]>();

/** Returns the rules of a collection in their order, compiled once per model. */
export function ruleConditions(collection: CollectionModel): readonly RuleCondition[] {
  const known = compiled.get(collection);
  if (known) return known;
  const conditions = collection.rules.map((rule) => conditionOf(collection, rule));
  compiled.set(collection, conditions);
  return conditions;
}

/** A rule was checked with its definition. One that does not compile all the same refuses every write: it must not be skipped. */
function conditionOf(collection: CollectionModel, rule: ValidationRule): RuleCondition {
  const condition = compileCondition(collection, rule.errorCondition);
  if ('problem' in condition) {
    throw new TypeError(
      `Rule "${rule.name}" of collection "${collection.name}" is invalid: ${condition.problem}. Correct it.`,
    );
  }
  const { evaluateOn = 'CREATE_AND_UPDATE' } = rule;
  const rollup = (): Sql => sql`null::numeric`; // rules read no rollups
  return {
    rule,
    onCreate: evaluateOn !== 'UPDATE',
    onUpdate: evaluateOn !== 'CREATE',
    refuses: (record) => evaluateFormula(condition, record) === true,
    isTrue: (alias) => sql`coalesce(${formulaSql(condition, { collection, alias, rollup })}, false)`,
  };
}
