import type { Queryable } from '@drover/database';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import type { OperationDependencies } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { identifier, parameter, sql, Sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from '../storage/field-expression.js';
import { codecsOf } from '../values/field-codec.js';
import { shown, ValueProblem } from '../values/value-problem.js';
import { isOwnRow } from '../write/next-rows.js';
import { escapePointer } from '../write/record-input.js';
import { runSlots } from '../write/statement-slots.js';

/** A unique field of the collection that a lookup refers to: rows may name a record by its value, as `customer.code`. */
export interface ReferenceKey {
  /** As a column names it. */
  readonly name: string;
  /** The lookup. */
  readonly field: FieldModel;
  readonly target: CollectionModel;
  /** The unique field of the target. */
  readonly key: FieldModel;
}

/** Returns the keys by which rows can name the records that they refer to, by name of the column. */
export async function referenceKeys(
  { tenantId, access }: Pick<RecordContext, 'tenantId' | 'access'>,
  { fields }: CollectionModel,
  { find }: Pick<OperationDependencies, 'find'>,
): Promise<ReadonlyMap<string, ReferenceKey>> {
  const keys = new Map<string, ReferenceKey>();
  for (const field of fields.values()) {
    if (field.traits.kind !== 'reference') continue;
    const target = await find(tenantId, field.definition.references?.collection ?? '');
    if (!access.mayRead(target)) continue; // a value that is found tells that a record has it
    for (const key of target.fields.values()) {
      const name = `${field.name}.${key.name}`;
      if (key.isUnique && keyTypes[key.traits.kind] !== undefined) keys.set(name, { name, field, target, key });
    }
  }
  return keys;
}

const keyTypes: Partial<Readonly<Record<FieldModel['traits']['kind'], string>>> = {
  text: 'text',
  integer: 'bigint',
  number: 'numeric',
};

/** A row whose lookups are named by keys. */
export interface NamingRow {
  /** Of the row in its batch. */
  readonly index: number;
  /** Id of the new record, or of the one that the row restores. */
  readonly id: string | undefined;
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Finds the ids of records that rows name by keys: `found` has them by row and lookup, `problems` what is wrong by row. A record of the
 * same batch counts too if its row has an id.
 */
export async function resolveReferences(
  collection: CollectionModel,
  rows: readonly NamingRow[],
  keys: ReadonlyMap<string, ReferenceKey>,
  io: Pick<OperationDependencies, 'statements' | 'cipher'> & {
    readonly database: Queryable;
    readonly tenantId: string;
  },
): Promise<{
  readonly found: ReadonlyMap<number, Readonly<Record<string, string>>>;
  readonly problems: ReadonlyMap<number, RecordProblem[]>;
}> {
  const found = new Map<number, Record<string, string>>();
  const problems = new Map<number, RecordProblem[]>();
  const refuse = (row: NamingRow, { name }: ReferenceKey, detail: string): void => {
    const problem = { code: 'reference', detail, source: { pointer: `/${escapePointer(name)}` } };
    problems.set(row.index, [...(problems.get(row.index) ?? []), problem]);
  };
  for (const key of keys.values()) {
    const codec = codecsOf(key.target, io.cipher).get(key.key.name);
    const valueOf = (given: unknown): string | ValueProblem | undefined => {
      const stored = codec?.parse(given) ?? null;
      if (stored === null) return undefined;
      return stored instanceof ValueProblem ? stored : typeof stored === 'string' ? stored : JSON.stringify(stored);
    };
    const named: { readonly row: NamingRow; readonly value: string }[] = [];
    for (const row of rows) {
      const given = row.values[key.name];
      if (given === undefined || given === null) continue;
      const value = valueOf(given);
      if (row.values[key.field.name] !== undefined)
        refuse(row, key, `The row has both "${key.name}" and "${key.field.name}". Send one of them.`);
      else if (value instanceof ValueProblem) refuse(row, key, value.message);
      else if (value !== undefined) named.push({ row, value });
    }
    if (named.length === 0) continue;
    const ids = await findByKey(key, [...new Set(named.map(({ value }) => value))], io);
    if (key.target.id === collection.id) addOfBatch(ids, rows, ({ values }) => valueOf(values[key.key.name]));
    for (const { row, value } of named) {
      const id = ids.get(value);
      if (id === undefined)
        refuse(
          row,
          key,
          `"${key.target.name}" has no record whose "${key.key.name}" is ${shown(value)}. Create it first, or correct the value.`,
        );
      else found.set(row.index, { ...found.get(row.index), [key.field.name]: id });
    }
  }
  return { found, problems };
}

const row = identifier('row');

async function findByKey(
  { target, key }: ReferenceKey,
  values: readonly string[],
  { statements, database, tenantId: tenant }: Parameters<typeof resolveReferences>[3],
): Promise<Map<string, string>> {
  const type = Sql.code(keyTypes[key.traits.kind] ?? 'text');
  const stored = fieldExpression(target, key, row);
  const statement = sql`with given as (select value, value::${type} as key from unnest(${parameter(values)}::text[]) as value),
    found as materialized (select ${stored} as key, ${row}.id from ${tableOf(target)} as ${row}
      where ${isOwnRow(row)} and ${row}.deleted_at is null and ${stored} = any(array(select key from given)))
    select given.value, found.id from given join found on found.key = given.key`;
  const rows = await runSlots<{ value: string; id: string }>(statements, database, statement, { tenant });
  return new Map(rows.map(({ value, id }) => [value, id]));
}

/** Rows may refer to rows of the same batch, which the table does not have yet. */
function addOfBatch(
  ids: Map<string, string>,
  rows: readonly NamingRow[],
  keyOf: (row: NamingRow) => string | ValueProblem | undefined,
): void {
  for (const each of rows) {
    const value = keyOf(each);
    if (each.id !== undefined && typeof value === 'string' && !ids.has(value)) ids.set(value, each.id);
  }
}
