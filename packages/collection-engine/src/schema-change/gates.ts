import { picklistDependencies } from '../formula/picklist-dependencies.js';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, join, sql, type Sql } from '../sql/sql.js';
import { nameWithin } from '../storage/collection-indexes.js';
import { fieldExpression } from '../storage/field-expression.js';
import { indexedBytes } from '../values/indexed-bytes.js';
import { isInTheWay, type RetypedField } from './bridge.js';

/**
 * A condition that all records fulfil. While a definition changes, it is a constraint of the table: PostgreSQL refuses writes of workers
 * with the version before that the new one does not allow. It is dropped when all workers have the new definition, which they enforce.
 */
export interface Gate {
  readonly name: string;
  readonly field: FieldModel;
  /** Name of the property of the field, or of its constraints. */
  readonly property: string;
  readonly condition: Sql;
}

/** Returns the conditions on the stored values of a collection. */
export function gatesOf(collection: CollectionModel): readonly Gate[] {
  const table = identifier(collection.table);
  const dependencies = picklistDependencies(collection).map(({ field, isAllowed }) =>
    gate(collection, field, 'dependsOn', isAllowed(table)),
  );
  const ofFields = [...collection.fields.values()].flatMap((field) => {
    if (field.traits.column === undefined || field.type === 'ENCRYPTED') return requiredGate(collection, field, table);
    const value = fieldExpression(collection, field, table);
    return [
      ...requiredGate(collection, field, table),
      ...valueConditions(collection, field, value).map(([property, condition]) =>
        gate(collection, field, property, condition),
      ),
    ];
  });
  return [...ofFields, ...dependencies];
}

/** Returns the condition that the new type can hold every value that is stored in the old one. */
export function retypeGate(collection: CollectionModel, retyped: RetypedField, row: Sql): Gate {
  return gate(collection, retyped.after, 'type', sql`not (${isInTheWay(collection, retyped, row)})`);
}

function requiredGate(collection: CollectionModel, field: FieldModel, table: Sql): Gate[] {
  if (!field.isRequired || field.traits.column === undefined) return [];
  return [gate(collection, field, 'required', sql`${fieldExpression(collection, field, table)} is not null`)];
}

function gate(collection: CollectionModel, field: FieldModel, property: string, condition: Sql): Gate {
  const live = sql`deleted_at is not null or (${condition})`;
  return { name: nameWithin(collection.table, 'g', live.render().text), field, property, condition: live };
}

/** Each condition is null for a record without a value, which a constraint allows. */
function valueConditions(collection: CollectionModel, field: FieldModel, value: Sql): readonly [string, Sql][] {
  const {
    minValue,
    maxValue,
    minLength,
    maxLength,
    minItems,
    maxItems,
    enum: allowed,
  } = field.definition.constraints ?? {};
  const { kind } = field.traits;
  const isNumber = kind === 'integer' || kind === 'number';
  const isDocument = collection.storageMode === 'JSONB' || field.type !== 'MULTI_PICKLIST';
  const bytes = indexedBytes(collection, field);
  const length = isDocument ? sql`jsonb_array_length(${value})` : sql`cardinality(${value})`;
  const conditions: [string, Sql | undefined][] = [
    ['minValue', isNumber && minValue !== undefined ? sql`${value} >= ${number(minValue)}` : undefined],
    ['maxValue', isNumber && maxValue !== undefined ? sql`${value} <= ${number(maxValue)}` : undefined],
    [
      'minLength',
      kind === 'text' && minLength !== undefined ? sql`length(${value}) >= ${number(minLength)}` : undefined,
    ],
    [
      'maxLength',
      kind === 'text' && maxLength !== undefined ? sql`length(${value}) <= ${number(maxLength)}` : undefined,
    ],
    ['indexed', bytes === undefined ? undefined : sql`octet_length(${value}) <= ${number(bytes)}`],
    ['type', field.type === 'ARRAY' ? sql`jsonb_typeof(${value}) = 'array'` : undefined],
    ['minItems', kind === 'list' && minItems !== undefined ? sql`${length} >= ${number(minItems)}` : undefined],
    ['maxItems', kind === 'list' && maxItems !== undefined ? sql`${length} <= ${number(maxItems)}` : undefined],
    ['enum', allowed && (kind === 'text' || isNumber) ? oneOf(value, allowed, kind === 'text') : undefined],
    ['values', field.type === 'PICKLIST' ? oneOf(value, field.definition.values ?? [], true) : undefined],
    ['values', field.type === 'MULTI_PICKLIST' ? within(value, field.definition.values ?? [], isDocument) : undefined],
  ];
  return conditions.flatMap(([property, condition]) => (condition ? [[property, condition]] : []));
}

const number = (value: number): Sql => sql`(${constant(String(value))}::numeric)`;

function oneOf(value: Sql, allowed: readonly (string | number)[], isText: boolean): Sql {
  const values = isText ? allowed.map((item) => constant(String(item))) : allowed.map((item) => number(Number(item)));
  return values.length === 0 ? sql`false` : sql`${value} in (${join(values, sql`, `)})`;
}

function within(value: Sql, allowed: readonly string[], isDocument: boolean): Sql {
  if (isDocument) return sql`${value} <@ ${constant(JSON.stringify(allowed))}::jsonb`;
  const values = allowed.map((item) => constant(item));
  return sql`${value} <@ array[${join(values, sql`, `)}]::text[]`;
}
