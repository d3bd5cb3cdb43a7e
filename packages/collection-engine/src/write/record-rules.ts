import { picklistDependencies } from '../formula/picklist-dependencies.js';
import { ruleConditions } from '../formula/rule-conditions.js';
import type { CollectionModel } from '../model/collection-model.js';
import { sql, type Sql } from '../sql/sql.js';
import type { StoredValue } from '../values/value-problem.js';
import type { RecordDocument } from './input-rows.js';
import type { RecordInput } from './record-input.js';
import { dependencyProblem, ruleProblem } from './save-problems.js';
import type { CheckedRule, SaveShape } from './save-statement.js';
import { recordInvalid, ruleFailed } from './write-errors.js';

/**
 * Throws VALIDATION_RULE_FAILED if rules refuse new records, and VALIDATION_FAILED if their picklists do not fit each other: all of their
 * values are known before the statement runs.
 */
export function checkNewRecords(
  collection: CollectionModel,
  inputs: readonly RecordInput[],
  documents: readonly RecordDocument[],
  nowMs: number,
): void {
  const misfits = documents.flatMap(({ values }, index) =>
    picklistDependencies(collection).flatMap(({ field, allows }) =>
      allows(values) ? [] : [dependencyProblem(field, inputs[index])],
    ),
  );
  if (misfits.length > 0) throw recordInvalid({ problems: misfits });
  const conditions = ruleConditions(collection).filter(({ onCreate }) => onCreate);
  if (conditions.length === 0) return;
  const problems = documents.flatMap(({ values }, index) => {
    const record = { values: values as Readonly<Record<string, StoredValue>>, nowMs }; // the codecs have made them
    return conditions.filter(({ refuses }) => refuses(record)).map(({ rule }) => ruleProblem(rule, inputs[index]));
  });
  if (problems.length > 0) throw ruleFailed({ problems });
}

/** Returns the rules and dependencies that the statement checks: those of records whose other values are in the database. */
export function rulesOfStatement(collection: CollectionModel, kind: SaveShape['kind']): readonly CheckedRule[] {
  if (kind === 'create') return [];
  const dependencies = picklistDependencies(collection).map(({ field, isAllowed }) => ({
    problem: 'picklist' as const,
    name: field.name,
    isTrue: (alias: Sql) => sql`not ${isAllowed(alias)}`,
  }));
  const problem = 'rule' as const;
  const rules = ruleConditions(collection).flatMap<CheckedRule>(({ rule: { name }, onCreate, onUpdate, isTrue }) => {
    if (kind === 'update') return onUpdate ? [{ problem, name, isTrue }] : [];
    if (onCreate && onUpdate) return [{ problem, name, isTrue }];
    // A record that an upsert adds has the version 1.
    const applies = onCreate ? sql`= 1` : sql`> 1`;
    return [{ problem, name, isTrue: (alias) => sql`(${alias}.version ${applies} and ${isTrue(alias)})` }];
  });
  return [...dependencies, ...rules];
}
