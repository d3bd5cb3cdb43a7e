import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { identifier, join, sql, Sql } from '../sql/sql.js';
import { columnSlot, slot } from './statement-slots.js';

/** One record of a write, its values checked and in the form that is stored. */
export interface RecordDocument {
  readonly id: string;
  /** The version that the record must have; undefined for any. */
  readonly expected?: number | undefined;
  /** Stored value by column; null removes the value. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Columns that the client has sent; those of `values` unless defaults are among them. */
  readonly given?: readonly string[];
  /** Values of attributes that the platform sets, by name, which the record must have. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/** Names of columns of `input` that no field can have: names of fields begin with a letter or an underscore. */
export const inputColumns = {
  index: identifier('#'),
  id: identifier('#id'),
  version: identifier('#version'),
  /** Columns that the record of the client has a value for, null included. */
  given: identifier('#given'),
  /** Values of attributes that the platform sets, by name, which the record must have. */
  claims: identifier('#claims'),
} as const;

/**
 * Returns the query that turns the slot `rows` into rows: index, id and expected version of each record, and its values in typed
 * columns, or as the column `data` of a collection in JSONB.
 */
export function inputRows(
  { storageMode }: Pick<CollectionModel, 'storageMode'>,
  fields: readonly FieldModel[],
  { isArray, hasClaims }: { readonly isArray: boolean; readonly hasClaims: boolean },
): Sql {
  const values =
    storageMode === 'JSONB'
      ? [sql`data jsonb`]
      : fields.map(({ column, traits }) => sql`${identifier(column)} ${Sql.code(traits.column ?? 'text')}`);
  const { index, id, version, given, claims } = inputColumns;
  const head = [sql`${index} integer`, sql`${id} uuid`, sql`${version} bigint`, sql`${given} text[]`];
  const columns = join([...head, ...(hasClaims ? [sql`${claims} jsonb`] : []), ...values], sql`, `);
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
  const rows = documents.map(({ id, expected, values, given, claims }, index) => {
    const version = expected === undefined ? '' : `,"#version":${expected}`;
    const columns = withGiven ? `,"#given":${JSON.stringify(given ?? Object.keys(values))}` : '';
    const claimed = claims === undefined ? '' : `,"#claims":${JSON.stringify(claims)}`;
    const head = `{"#":${index},"#id":${JSON.stringify(id)}${version}${columns}${claimed}`;
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

/** Whether new records come by column. For many of them, and only for typed columns: a document of JSONB is JSON anyway. */
export const isByColumn = ({
  collection,
  isSilent,
}: {
  readonly collection: Pick<CollectionModel, 'storageMode'>;
  readonly isSilent?: boolean | undefined;
}): boolean => isSilent === true && collection.storageMode === 'PHYSICAL_TABLE';

/**
 * Returns the query that turns the slots `columns` into rows of new records, as `inputRows` does. PostgreSQL reads an array per column
 * with less work than JSON: 3.3 in place of 6.7 µs for a row of `bench:collections`, import.
 */
export function inputFromColumns(fields: readonly FieldModel[]): Sql {
  const { index, id } = inputColumns;
  const types = ['uuid', ...fields.map(({ traits }) => (isList(traits) ? 'text' : (traits.column ?? 'text')))];
  const arrays = types.map((type, at) => sql`${columnSlot(at)}::${Sql.code(`${type}[]`)}`);
  const names = [id, ...fields.map(({ column }) => identifier(column)), index];
  const columns = fields.map(({ column, traits }) => {
    const name = identifier(column);
    return isList(traits) ? sql`${name}::${Sql.code(traits.column ?? '')} as ${name}` : name;
  });
  return sql`select ${join([sql`(${index} - 1)::integer as ${index}`, id, ...columns], sql`, `)}
    from unnest(${join(arrays, sql`, `)}) with ordinality as input(${join(names, sql`, `)})`;
}

/** Returns the values of the slots `columns`: an array in the syntax of PostgreSQL for the ids, and one for each field. */
export function toInputColumns(documents: readonly RecordDocument[], fields: readonly FieldModel[]): string[] {
  return [
    arrayText(documents.map(({ id }) => id)),
    ...fields.map(({ column, traits }) => {
      const toElement = traits.column === 'jsonb' ? jsonElement : isList(traits) ? listElement : arrayElement;
      return `{${documents.map(({ values }) => toElement(values[column])).join(',')}}`;
    }),
  ];
}

/** `unnest` would make a row of each item of such a column: its arrays come as texts. */
const isList = ({ column = '' }: FieldModel['traits']): boolean => column.endsWith('[]');

const arrayText = (items: readonly unknown[]): string => `{${items.map(arrayElement).join(',')}}`;

const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;

function arrayElement(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  return isAbsent(value) ? 'NULL' : JSON.stringify(value);
}

const jsonElement = (value: unknown): string => (isAbsent(value) ? 'NULL' : quoted(JSON.stringify(value)));
const listElement = (value: unknown): string => (Array.isArray(value) ? quoted(arrayText(value)) : 'NULL');

const quoted = (text: string): string =>
  text.includes('"') || text.includes('\\') ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`;
