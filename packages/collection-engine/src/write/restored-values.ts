import type { CollectionModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import { anyId, constant, identifier, join, sql, type Sql } from '../sql/sql.js';
import { tableOf } from '../storage/field-expression.js';
import type { FieldCodec } from '../values/field-codec.js';
import { parseClientJson } from '../values/number-literal.js';
import { ValueProblem } from '../values/value-problem.js';
import { isOwnRow } from './next-rows.js';
import { escapePointer, type RecordInput } from './record-input.js';
import { rulesOfStatement } from './record-rules.js';
import { dependencyProblem, ruleProblem } from './save-problems.js';
import { slot } from './statement-slots.js';
import { storedFields, storedRecordJson } from './stored-record-json.js';

/** A record that a restoration brings back, as it is stored. */
export interface RestoredValues {
  readonly id: string;
  readonly record: string;
  /** Names of the rules that refuse it, and of fields with values that other picklists do not allow. */
  readonly rules: readonly string[];
  readonly picklists: readonly string[];
}

const row = identifier('row');

/** Returns the query for the values of the records of the slot `ids`, and for the rules of updates that refuse them. */
export function restoredValuesQuery(collection: CollectionModel): Sql {
  const rules = rulesOfStatement(collection, 'update');
  const refusing = (problem: 'rule' | 'picklist'): Sql => {
    const names = rules
      .filter((rule) => rule.problem === problem)
      .map(({ name, isTrue }) => sql`case when ${isTrue(row)} then ${constant(name)} end`);
    return sql`array_remove(array[${join(names, sql`, `)}]::text[], null)`;
  };
  return sql`select ${row}.id, (${storedRecordJson(collection, row)})::text as record, ${refusing('rule')} as rules,
    ${refusing('picklist')} as picklists
    from ${tableOf(collection)} as ${row} where ${isOwnRow(row)} and ${row}.id = ${anyId(slot('ids'))} order by ${row}.id`;
}

/**
 * Returns what the current definition refuses about records that come back: it may have changed since they were deleted, or since
 * their values were current. Encrypted values are not looked at.
 */
export function restoredProblems(
  collection: CollectionModel,
  codecs: ReadonlyMap<string, FieldCodec>,
  { record, rules, picklists }: RestoredValues,
): { readonly values: RecordProblem[]; readonly rules: RecordProblem[] } {
  const stored = parseClientJson(record) as Readonly<Record<string, unknown>>; // made by `storedRecordJson`
  const values = storedFields(collection).flatMap(({ name, traits, type }): RecordProblem[] => {
    const codec = traits.isWritable && (type !== 'ENCRYPTED' || stored[name] === null) ? codecs.get(name) : undefined;
    const checked = codec?.parse(stored[name]);
    if (!(checked instanceof ValueProblem)) return [];
    return [{ code: checked.constraint, detail: checked.message, source: { pointer: restoredInput.pointer(name) } }];
  });
  const misfits = picklists.flatMap((name) => {
    const field = collection.fields.get(name);
    return field ? [dependencyProblem(field, restoredInput)] : [];
  });
  const refused = collection.rules.filter(({ name }) => rules.includes(name));
  return { values: [...values, ...misfits], rules: refused.map((rule) => ruleProblem(rule, restoredInput)) };
}

/** Pointers of a restored record: the request has no body. */
const restoredInput: RecordInput = {
  id: undefined,
  lid: undefined,
  values: {},
  pointer: (name) => `/data/attributes/${escapePointer(name)}`,
  at: '/data',
};
