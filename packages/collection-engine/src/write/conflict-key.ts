import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { identifier, join, sql, type Sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
import type { RecordDocument } from './input-rows.js';
import { inputColumns } from './input-rows.js';
import { writeParameterInvalid } from './write-errors.js';

/** By what an upsert finds existing records: their id, a unique field, or the fields of a unique set. */
export interface ConflictKey {
  /** As the client names it; the same for the same fields in any order. */
  readonly name: string;
  /** Empty for the id. */
  readonly fields: readonly FieldModel[];
}

/**
 * Returns the key that `on_conflict` names: `id`, a unique field, or all fields of a unique set, separated by commas. `mayChooseIds` says
 * whether a record that is not found may get the id of the request.
 */
export function conflictKey(
  name: string | undefined,
  collection: CollectionModel,
  mayChooseIds: boolean,
): ConflictKey | undefined {
  if (name === undefined) return undefined;
  if (name === 'id' && mayChooseIds) return { name, fields: [] };
  const names = name.split(',').map((each) => each.trim());
  const set = keysOf(collection).find(
    (key) =>
      key.length === names.length && new Set(names).size === names.length && key.every((each) => names.includes(each)),
  );
  if (set) return { name: set.join(), fields: set.flatMap((each) => collection.fields.get(each) ?? []) };
  const offered = [...(mayChooseIds ? [['id']] : []), ...keysOf(collection)].map((key) => `"${key.join()}"`);
  const hint =
    name === 'id'
      ? ' Records cannot choose their ids unless the definition allows "api.clientIds"; change them with PATCH, or send an import.'
      : '';
  const next = offered.length === 0 ? 'It has no unique field.' : `Name one of ${offered.join(', ')}.`;
  const detail = `on_conflict names "${name}", which is not a unique field or set of "${collection.name}".${hint} ${next}`;
  throw writeParameterInvalid({
    problems: [{ code: 'INVALID_PARAMETER', detail, source: { parameter: 'on_conflict' } }],
  });
}

/** Unique fields and sets whose values clients send. */
function keysOf({ fields, uniqueSets }: CollectionModel): readonly (readonly string[])[] {
  const single = [...fields.values()].filter(({ isUnique, traits }) => isUnique && traits.isWritable);
  return [...single.map(({ name }) => [name]), ...uniqueSets];
}

const row = identifier('row');
const input = identifier('input');

/** Returns the condition that a stored row is the one that a record of `input` names. A record without a value of the key is new. */
export function isSameRecord(collection: CollectionModel, { fields }: ConflictKey): Sql {
  if (fields.length === 0) return sql`${row}.id = ${input}.${inputColumns.id}`;
  const equal = fields.map(
    (field) => sql`${fieldExpression(collection, field, input)} = ${fieldExpression(collection, field, row)}`,
  );
  return join(equal, sql` and `);
}

/** Returns the condition that an index of the key answers: the first value of a stored row is one of `input`. */
export function isAmongRecords(collection: CollectionModel, { fields: [first] }: ConflictKey): Sql {
  const stored = first ? fieldExpression(collection, first, row) : sql`${row}.id`;
  const given = first ? fieldExpression(collection, first, input) : sql`${input}.${inputColumns.id}`;
  return sql`${stored} = any(array(select ${given} from ${input}))`;
}

/** Returns the values of the key; undefined if the record lacks one, and is equal to no other then. */
export function keyValues({ fields }: ConflictKey, { id, values }: RecordDocument): string | undefined {
  if (fields.length === 0) return id;
  const own = fields.map(({ column }) => values[column] ?? null);
  return own.includes(null) ? undefined : JSON.stringify(own);
}
