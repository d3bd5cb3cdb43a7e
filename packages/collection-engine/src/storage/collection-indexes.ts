import { createHash } from 'node:crypto';
import { hasCode } from '@drover/contracts';
import { systemColumns, type CollectionModel, type FieldModel } from '../model/collection-model.js';
import { empty, identifier, join, sql, type Sql } from '../sql/sql.js';
import { fieldExpression, tableOf } from './field-expression.js';
import { searchDocument } from './search-document.js';

/** An index of the table of a collection. Its name follows from what it contains, not from names of fields: it survives a rename. */
export interface CollectionIndex {
  readonly name: string;
  readonly isUnique: boolean;
  /** Names of the fields, in order. */
  readonly fields: readonly string[];
  /** What follows the name of the table. */
  readonly body: Sql;
}

/** Returns all indexes of a collection beside its primary key; those that PostgreSQL enforces first. */
export function indexesOf(collection: CollectionModel): readonly CollectionIndex[] {
  const all = [
    ...uniqueSetsOf(collection).map((fields) => uniqueIndex(collection, fields)),
    ...[...collection.fields.values()].flatMap((field) => fieldIndex(collection, field) ?? []),
    ...(collection.definition.indexes ?? []).map((parts) => compositeIndex(collection, parts)),
    ...[...collection.fields.values()].flatMap((field) => patternIndex(collection, field)),
    ...searchIndex(collection),
  ];
  return [...new Map(all.map((index) => [index.name, index])).values()];
}

/** Returns the statement that creates an index. Concurrently it cannot be part of a transaction and may leave an invalid index. */
export function createIndex(collection: CollectionModel, index: CollectionIndex, how: 'at once' | 'concurrently'): Sql {
  const unique = index.isUnique ? sql`unique ` : empty;
  const concurrently = how === 'concurrently' ? sql`concurrently ` : empty;
  return sql`create ${unique}index ${concurrently}${identifier(index.name)} on ${tableOf(collection)} ${index.body}`;
}

/**
 * Returns the fields that a violated unique index names, for an error of the API; undefined for an index of another version of the
 * definition.
 */
export function fieldsOfUniqueIndex(collection: CollectionModel, indexName: string): readonly string[] | undefined {
  return uniqueSetsOf(collection).find((fields) => uniqueIndex(collection, fields).name === indexName);
}

/** Whether a table refused a record because of a constraint that exists only while the definition changes. */
export function isGateViolation(error: unknown, table: string): boolean {
  if (!hasCode(error, '23514')) return false;
  const { constraint = '' } = error as { readonly constraint?: string }; // an error of the driver
  return constraint.startsWith(`${table}_g_`);
}

/** Names of everything that belongs to a table start with the table and a letter for the kind of thing. */
export function nameWithin(table: string, kind: 'b' | 'g' | 'i' | 'n' | 'u', content: string): string {
  return `${table}_${kind}_${createHash('sha256').update(content).digest('hex').slice(0, 12)}`;
}

function uniqueSetsOf({ fields, uniqueSets }: CollectionModel): readonly (readonly string[])[] {
  const single = [...fields.values()].filter((field) => field.isUnique).map(({ name }) => [name]);
  return [...single, ...uniqueSets];
}

/** Deleted records do not occupy a value; a record without a value is equal to no other. */
function uniqueIndex(collection: CollectionModel, fields: readonly string[]): CollectionIndex {
  return named(collection, fields, true, sql`${uniqueParts(collection, fields)} where deleted_at is null`);
}

function uniqueParts(collection: CollectionModel, fields: readonly string[]): Sql {
  const parts = fields.flatMap((name) => {
    const field = collection.fields.get(name);
    return field ? [sql`(${fieldExpression(collection, field, identifier(collection.table))})`] : [];
  });
  return sql`(${join(parts, sql`, `)})`;
}

/** Ends with the id: lists are sorted by it last, and pages start after a value and an id. */
function fieldIndex(collection: CollectionModel, field: FieldModel): CollectionIndex | undefined {
  const { kind, column } = field.traits;
  if (!field.isIndexed || field.isUnique || column === undefined || field.type === 'ENCRYPTED') return undefined;
  const expression = fieldExpression(collection, field, identifier(collection.table));
  const isDocument = kind === 'json' || kind === 'list';
  return named(
    collection,
    [field.name],
    false,
    isDocument ? sql`using gin ((${expression}))` : sql`((${expression}), id)`,
  );
}

/** `parts` are names of fields or of system attributes; `-` sorts downwards. Records without a value come last in both. */
function compositeIndex(collection: CollectionModel, parts: readonly string[]): CollectionIndex {
  const table = identifier(collection.table);
  const columns = parts.flatMap((part) => {
    const isDown = part.startsWith('-');
    const name = isDown ? part.slice(1) : part;
    const field = collection.fields.get(name);
    const system = Object.entries(systemColumns).find(([attribute]) => attribute === name)?.[1];
    if (!field && system === undefined) return [];
    const value = field ? sql`(${fieldExpression(collection, field, table)})` : identifier(system ?? '');
    return [isDown ? sql`${value} desc nulls last` : value];
  });
  const isDown = parts.at(-1)?.startsWith('-') === true;
  const names = parts.map((part) => part.replace(/^-/, ''));
  return named(collection, names, false, sql`(${join([...columns, isDown ? sql`id desc` : sql`id`], sql`, `)})`);
}

/** Trigrams: for parts of a text, patterns, and comparisons without regard to case. */
function patternIndex(collection: CollectionModel, field: FieldModel): CollectionIndex[] {
  if (!isPatternIndexed(field)) return [];
  const expression = fieldExpression(collection, field, identifier(collection.table));
  return [named(collection, [field.name], false, sql`using gin ((${expression}) gin_trgm_ops)`)];
}

/** Whether an index finds parts of the texts of a field. */
export const isPatternIndexed = ({ definition, traits }: FieldModel): boolean =>
  definition.patternIndexed === true && traits.column !== undefined && traits.kind === 'text';

function searchIndex(collection: CollectionModel): CollectionIndex[] {
  const search = searchDocument(collection, identifier(collection.table));
  return search === undefined ? [] : [named(collection, [], false, sql`using gin ((${search}))`)];
}

function named(collection: CollectionModel, fields: readonly string[], isUnique: boolean, body: Sql): CollectionIndex {
  return { name: nameWithin(collection.table, isUnique ? 'u' : 'i', body.render().text), isUnique, fields, body };
}
