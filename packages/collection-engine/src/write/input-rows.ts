import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { identifier, join, sql, Sql } from '../sql/sql.js';
import { slot } from './statement-slots.js';

/** One record of a write, its values checked and in the form that is stored. */
export interface RecordDocument {
  readonly id: string;
  /** The version that the record must have; undefined for any. */
  readonly expected?: number | undefined;
  /** Stored value by column; null removes the value. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Columns that the client has sent; those of `values` unless defaults are among them. */
  readonly given?: readonly string[];
}

/** Names of columns of `input` that no field can have: names of fields begin with a letter or an underscore. */
export const inputColumns = {
  index: identifier('#'),
  id: identifier('#id'),
  version: identifier('#version'),
  /** Columns that the record of the client has a value for, null included. */
  given: identifier('#given'),
} as const;

/**
 * Returns the query that turns the slot `rows` into rows: index, id and expected version of each record, and its values in typed
 * columns, or as the column `data` of a collection in JSONB.
 */
export function inputRows(
  { storageMode }: Pick<CollectionModel, 'storageMode'>,
  fields: readonly FieldModel[],
  isArray: boolean,
): Sql {
  const values =
    storageMode === 'JSONB'
      ? [sql`data jsonb`]
      : fields.map(({ column, traits }) => sql`${identifier(column)} ${Sql.code(traits.column ?? 'text')}`);
  const { index, id, version, given } = inputColumns;
  const columns = join(
    [sql`${index} integer`, sql`${id} uuid`, sql`${version} bigint`, sql`${given} text[]`, ...values],
    sql`, `,
  );
  return isArray
    ? sql`select * from jsonb_to_recordset(${slot('rows')}::jsonb) as input(${columns})`
    : sql`select * from jsonb_to_record(${slot('rows')}::jsonb) as input(${columns})`;
}

/**
 * Returns the value of the slot `rows`. Records of a create need no list of their columns. Each row is the JSON of its values behind
 * that of its head: objects of both together cost more than the rest of the write (`bench:collections`, import).
 */
export function toInputRows(
  { storageMode }: Pick<CollectionModel, 'storageMode'>,
  documents: readonly RecordDocument[],
  { isArray, withGiven }: { readonly isArray: boolean; readonly withGiven: boolean },
): string {
  const rows = documents.map(({ id, expected, values, given }, index) => {
    const version = expected === undefined ? '' : `,"#version":${expected}`;
    const columns = withGiven ? `,"#given":${JSON.stringify(given ?? Object.keys(values))}` : '';
    const head = `{"#":${index},"#id":${JSON.stringify(id)}${version}${columns}`;
    if (storageMode === 'JSONB') return `${head},"data":${JSON.stringify(withoutNulls(values))}}`;
    const rest = JSON.stringify(values);
    return rest === '{}' ? `${head}}` : `${head},${rest.slice(1)}`;
  });
  return isArray ? `[${rows.join(',')}]` : (rows[0] ?? '');
}

/** A document in JSONB has no key for a field without a value: `is null` means the same in both modes of storage. */
function withoutNulls(values: RecordDocument['values']): RecordDocument['values'] {
  const hasNull = Object.values(values).includes(null);
  return hasNull ? Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) : values;
}
