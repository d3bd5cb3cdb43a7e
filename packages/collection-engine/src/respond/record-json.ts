import { systemColumns, type CollectionModel, type FieldModel } from '../model/collection-model.js';
import type { RequestContext } from '../request/request-context.js';
import { sealedExpression } from '../values/field-cipher.js';
import { constant, identifier, join, sql, type Sql } from '../sql/sql.js';

/** Expressions of fields whose value is computed (formulas and rollups), by name of the field. */
export type ComputedFields = ReadonlyMap<string, (alias: Sql) => Sql>;

/** What a response shows of the records of one collection. */
export interface RecordView {
  readonly shape: RequestContext['shape'];
  /** Fields and system attributes to show; undefined shows all. */
  readonly only?: ReadonlySet<string> | undefined;
  readonly computed: ComputedFields;
  /** Relations that are included, by name: their identifiers (JSON:API: the `data` of a relationship) or their records (flat). */
  readonly related?: ReadonlyMap<string, Sql>;
}

/**
 * Returns the JSON of one record as an expression of the type `text` over the row `alias`: PostgreSQL builds it, and the worker
 * passes it on without parsing it.
 */
export function recordJson(collection: CollectionModel, alias: Sql, view: RecordView): Sql {
  if (view.shape === 'flat') return sql`${flatRecord(collection, alias, view)}::text`;
  const { only, related = new Map<string, Sql>() } = view;
  const references = [...collection.fields.values()].filter(
    ({ name, traits }) => traits.kind === 'reference' && (only?.has(name) ?? true),
  );
  const relationships = [
    ...references.map((field) =>
      relationship(field.name, related.get(field.name) ?? identifierOf(collection, field, alias)),
    ),
    ...[...related].flatMap(([name, data]) => (collection.fields.has(name) ? [] : [relationship(name, data)])),
  ];
  return concatenate([
    constant(`{"type":${JSON.stringify(collection.name)},"id":"`),
    sql`${alias}.id`,
    constant('","attributes":'),
    rowJson(attributesOf(collection, alias, view)),
    ...(relationships.length === 0
      ? []
      : [constant(',"relationships":{'), concatenate(commaSeparated(relationships)), constant('}')]),
    constant(',"meta":{"version":'),
    sql`${alias}.version`,
    constant('}}'),
  ]);
}

/** Returns a flat record as an expression of the type `json`. References are ids, or records if they are included. */
export function flatRecord(collection: CollectionModel, alias: Sql, view: RecordView): Sql {
  const { only, related = new Map<string, Sql>() } = view;
  const references = [...collection.fields.values()]
    .filter(({ name, traits }) => traits.kind === 'reference' && (only?.has(name) ?? true) && !related.has(name))
    .map((field) => column(jsonValue(collection, field, alias, view), field.name));
  return rowJson([
    column(sql`${alias}.id`, 'id'),
    column(sql`${alias}.version`, 'version'),
    ...attributesOf(collection, alias, view),
    ...references,
    ...[...related].map(([name, records]) => column(records, name)),
  ]);
}

/** Returns the resource identifier of a record that a field references, as text: JSON null if there is none. */
function identifierOf(collection: CollectionModel, field: FieldModel, alias: Sql): Sql {
  const target = field.definition.references?.collection ?? '';
  const id =
    collection.storageMode === 'JSONB'
      ? sql`(${alias}.data ->> ${constant(field.column)})`
      : sql`${alias}.${identifier(field.column)}`;
  return sql`case when ${id} is null then 'null' else ${concatenate([constant(`{"type":${JSON.stringify(target)},"id":"`), id, constant('"}')])} end`;
}

function relationship(name: string, data: Sql): Sql {
  return concatenate([constant(`${JSON.stringify(name)}:{"data":`), data, constant('}')]);
}

/** Returns the columns of all attributes that are shown: fields in the order of the definition, then system attributes. */
function attributesOf(collection: CollectionModel, alias: Sql, view: RecordView): Sql[] {
  const isShown = (name: string): boolean => view.only?.has(name) ?? true;
  const fields = [...collection.fields.values()]
    .filter(({ name, traits }) => traits.kind !== 'reference' && isShown(name))
    .map((field) => column(jsonValue(collection, field, alias, view), field.name));
  const system = Object.entries(systemColumns)
    .filter(([name]) => isShown(name) && (name !== 'deletedAt' || collection.isSoftDelete))
    .map(([name, systemColumn]) => column(sql`${alias}.${identifier(systemColumn)}`, name));
  return [...fields, ...system];
}

/** Returns the value of a field as JSON shows it. Both storage modes show the same. */
function jsonValue(collection: CollectionModel, field: FieldModel, alias: Sql, view: RecordView): Sql {
  const computed = view.computed.get(field.name);
  if (computed) return computed(alias);
  const isJsonb = collection.storageMode === 'JSONB';
  const key = isJsonb ? constant(field.column) : identifier(field.column);
  if (field.type === 'ENCRYPTED') return sealedExpression(collection, field, alias);
  if (!isJsonb) return sql`${alias}.${key}`;
  return field.traits.kind === 'datetime' ? sql`(${alias}.data ->> ${key})::timestamptz` : sql`${alias}.data -> ${key}`;
}

const column = (value: Sql, name: string): Sql => sql`${value} as ${identifier(name)}`;

/** No column of a field has this name, which would stand for the column then, and not for the row. */
const row = identifier('#row');

/** An object with the columns as members; unlike json_build_object it takes any number of them. */
function rowJson(columns: readonly Sql[]): Sql {
  return columns.length === 0
    ? sql`'{}'::json`
    : sql`(select row_to_json(${row}) from (select ${join(columns, sql`, `)}) as ${row})`;
}

const commaSeparated = (parts: readonly Sql[]): Sql[] =>
  parts.flatMap((part, index) => (index === 0 ? [part] : [constant(','), part]));

/** PostgreSQL functions take at most 100 arguments. */
const mostArguments = 100;

/** Joins texts. One call copies each part once; the operator `||` copies the whole text before it, too. */
function concatenate(parts: readonly Sql[]): Sql {
  if (parts.length <= mostArguments) return sql`concat(${join(parts, sql`, `)})`;
  const groups: Sql[] = [];
  for (let start = 0; start < parts.length; start += mostArguments)
    groups.push(concatenate(parts.slice(start, start + mostArguments)));
  return concatenate(groups);
}
