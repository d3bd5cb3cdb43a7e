import { systemColumns, type CollectionModel, type FieldModel } from '../model/collection-model.js';
import type { RecordContext } from '../request/record-context.js';
import { sealedExpression } from '../values/field-cipher.js';
import { constant, empty, identifier, join, sql, type Sql } from '../sql/sql.js';
import { storedJson, systemValue } from '../storage/field-expression.js';
import { timeText } from '../storage/time-expression.js';

/** Expressions of fields whose value is computed (formulas and rollups), by name of the field. */
export type ComputedFields = ReadonlyMap<string, (alias: Sql) => Sql>;

/** What a response shows of the records of one collection. */
export interface RecordView {
  readonly shape: RecordContext['shape'];
  /** Fields and system attributes to show; undefined shows all. */
  readonly only?: ReadonlySet<string> | undefined;
  readonly computed: ComputedFields;
  /** Relations that are included, by name: their identifiers (JSON:API: the `data` of a relationship) or their records (flat). */
  readonly related?: ReadonlyMap<string, Sql>;
  /** Whether the statement has the join of `recordColumns`. */
  readonly isJoined?: boolean;
}

/**
 * Returns the JSON of one record as an expression of the type `text` over the row `alias`: PostgreSQL builds it, and the worker
 * passes it on without parsing it.
 */
export function recordJson(collection: CollectionModel, alias: Sql, view: RecordView): Sql {
  return once(collection, view, sql`json ${alias}`, () => buildRecordJson(collection, alias, view));
}

/**
 * Returns a join with the attributes of a record, for statements that show many. PostgreSQL inlines it; without the join, the attributes
 * are a subquery that it starts anew for every record (19 → 14 µs for a record with 14 attributes).
 */
export function recordColumns(collection: CollectionModel, alias: Sql, view: RecordView): Sql {
  return once(collection, view, sql`columns ${alias}`, () => {
    const columns =
      view.shape === 'flat' ? flatColumns(collection, alias, view) : attributesOf(collection, alias, view);
    return columns.length === 0 ? empty : sql` cross join lateral (select ${join(columns, sql`, `)}) as ${row}`;
  });
}

/** Builds a fragment of complete records once. */
function once(collection: CollectionModel, view: RecordView, name: Sql, build: () => Sql): Sql {
  if (view.only || (view.related && view.related.size > 0)) return build();
  let cached = complete.get(collection);
  if (!cached || cached.computed !== view.computed) {
    cached = { computed: view.computed, byUse: new Map() };
    complete.set(collection, cached);
  }
  const use = `${view.shape} ${view.isJoined === true} ${name.render().text}`;
  const known = cached.byUse.get(use);
  if (known) return known;
  const fragment = build();
  if (cached.byUse.size < mostUses) cached.byUse.set(use, fragment);
  return fragment;
}

/**
 * The JSON of complete records, by shape and alias. Without it, building the expression is most of the CPU time of a request in the
 * worker: 104 → 28 µs for a record by its id.
 */
const complete = new WeakMap<
  CollectionModel,
  { readonly computed: ComputedFields; readonly byUse: Map<string, Sql> }
>();
const mostUses = 20;

function buildRecordJson(collection: CollectionModel, alias: Sql, view: RecordView): Sql {
  if (view.shape === 'flat') return sql`${flatRecord(collection, alias, view)}::text`;
  const { only, related = new Map<string, Sql>() } = view;
  const references = [...collection.fields.values()].filter(
    ({ name, traits }) => traits.kind === 'reference' && (only?.has(name) ?? true),
  );
  const relationships = [
    ...references.map((field) => {
      const included = related.get(field.name);
      return relationship(field.name, included ? orNull(included) : identifierOf(collection, field, alias));
    }),
    ...[...related].flatMap(([name, data]) => (collection.fields.has(name) ? [] : [relationship(name, orNull(data))])),
  ];
  return concatenate([
    `{"type":${JSON.stringify(collection.name)},"id":"`,
    sql`${alias}.id`,
    '","attributes":',
    rowJson(attributesOf(collection, alias, view), view),
    ...(relationships.length === 0 ? [] : [',"relationships":{', ...commaSeparated(relationships), '}']),
    ',"meta":{"version":',
    sql`${alias}.version`,
    '}}',
  ]);
}

/** Returns a flat record as an expression of the type `json`. References are ids, or records if they are included. */
export function flatRecord(collection: CollectionModel, alias: Sql, view: RecordView): Sql {
  return rowJson(flatColumns(collection, alias, view), view);
}

function flatColumns(collection: CollectionModel, alias: Sql, view: RecordView): Sql[] {
  const { only, related = new Map<string, Sql>() } = view;
  const references = [...collection.fields.values()]
    .filter(({ name, traits }) => traits.kind === 'reference' && (only?.has(name) ?? true) && !related.has(name))
    .map((field) => column(jsonValue(collection, field, alias, view), field.name));
  return [
    column(sql`${alias}.id`, 'id'),
    column(sql`${alias}.version`, 'version'),
    ...attributesOf(collection, alias, view),
    ...references,
    ...[...related].map(([name, records]) => column(records, name)),
  ];
}

/** Returns the resource identifier of a record that a field references, as text: JSON null if there is none. */
function identifierOf(collection: CollectionModel, field: FieldModel, alias: Sql): Sql {
  const target = field.definition.references?.collection ?? '';
  const id =
    collection.storageMode === 'JSONB'
      ? sql`(${alias}.data ->> ${constant(field.column)})`
      : sql`${alias}.${identifier(field.column)}`;
  return orNull(concatenate([`{"type":${JSON.stringify(target)},"id":"`, id, '"}']));
}

const relationship = (name: string, data: Sql): JsonPart[] => [`${JSON.stringify(name)}:{"data":`, data, '}'];

const orNull = (json: Sql): Sql => sql`coalesce((${json})::text, 'null')`;

/** Returns the columns of all attributes that are shown: fields in the order of the definition, then system attributes. */
function attributesOf(collection: CollectionModel, alias: Sql, view: RecordView): Sql[] {
  const isShown = (name: string): boolean => view.only?.has(name) ?? true;
  const fields = [...collection.fields.values()]
    .filter(({ name, traits }) => traits.kind !== 'reference' && isShown(name))
    .map((field) => column(jsonValue(collection, field, alias, view), field.name));
  const system = Object.entries(systemColumns)
    .filter(([name]) => isShown(name) && (name !== 'deletedAt' || collection.isSoftDelete))
    .map(([name, systemColumn]) => column(systemValue(systemColumn, alias), name));
  return [...fields, ...system];
}

/** Returns the value of a field as JSON shows it. Both storage modes show the same. */
function jsonValue(collection: CollectionModel, field: FieldModel, alias: Sql, view: RecordView): Sql {
  const computed = view.computed.get(field.name);
  if (computed) return field.traits.kind === 'datetime' ? timeText(computed(alias)) : computed(alias);
  if (field.type === 'ENCRYPTED') return sealedExpression(collection, field, alias);
  return storedJson(collection, field, alias);
}

const column = (value: Sql, name: string): Sql => sql`${value} as ${identifier(name)}`;

/** No column of a field has this name, which would stand for the column then, and not for the row. */
const row = identifier('#row');

/** An object with the columns as members; unlike json_build_object it takes any number of them. */
function rowJson(columns: readonly Sql[], { isJoined = false }: RecordView): Sql {
  if (columns.length === 0) return sql`'{}'::json`;
  return isJoined
    ? sql`row_to_json(${row})`
    : sql`(select row_to_json(${row}) from (select ${join(columns, sql`, `)}) as ${row})`;
}

/** A piece of JSON: text of ours, or an expression, which is null only if the whole may be null. */
type JsonPart = string | Sql;

const commaSeparated = (groups: readonly (readonly JsonPart[])[]): JsonPart[] =>
  groups.flatMap((parts, index) => (index === 0 ? parts : [',', ...parts]));

/**
 * Joins texts with the operator, which is null if a part is. `concat` looks up how to print each of its arguments: of 25 records it took
 * twice the time.
 */
function concatenate(parts: readonly JsonPart[]): Sql {
  const merged: JsonPart[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (typeof part === 'string' && typeof last === 'string') merged[merged.length - 1] = last + part;
    else merged.push(part);
  }
  return join(
    merged.map((part) => (typeof part === 'string' ? constant(part) : sql`(${part})::text`)),
    sql` || `,
  );
}
