import { systemColumns, type CollectionModel, type FieldModel } from '../model/collection-model.js';
import { constant, identifier, join, parameter, Sql, sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
import { isSearchable, searchDocument } from '../storage/search-document.js';
import type { PlannedCollection } from './planning.js';

/** Something of a record that a condition, an order or a group is about. */
export interface Operand {
  readonly name: string;
  readonly kind: OperandKind;
  /** SQL type of values that it is compared with; of the items for a list of a physical table. */
  readonly type: OperandType;
  readonly isOrdered: boolean;
  /** False for attributes that every record has. */
  readonly isNullable: boolean;
  /** Whether an index starts with it. */
  readonly isIndexed: boolean;
  /** Whether the index that starts with it, or has it, is sorted downwards. Only of attributes that every record has. */
  readonly isIndexedDownwards?: boolean;
  /** The field, unless it is a system attribute or computed from several. */
  readonly field: FieldModel | undefined;
  expression(alias: Sql): Sql;
  /** The document of full-text search, of which the field is a part: it has an index. */
  readonly searched?: (alias: Sql) => Sql;
  /** Set for an indexed field of the one record that a relation leads to. */
  readonly related?: RelatedValue;
  /** Set for a value inside of a JSON field with an index. */
  readonly inside?: JsonPath;
}

/** The value of a field of a related record, in statements that join the records. */
export interface RelatedValue {
  /** The table of the related records. */
  readonly table: Sql;
  /** Whether a row of it is that of a record, is visible to the caller, and has a value. */
  readonly isOf: (alias: Sql) => Sql;
  /** The value in a joined row. */
  readonly value: Sql;
}

/** A place inside of a JSON document. */
export interface JsonPath {
  readonly document: (alias: Sql) => Sql;
  readonly keys: readonly string[];
}

export type OperandKind =
  | 'text'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'uuid'
  | 'json'
  | 'list'
  | 'textList'
  | 'jsonPath'
  | 'sealed';

/** Types that parameters are cast to. `sortableText` holds dates and times in JSONB documents. */
export type OperandType =
  | 'text'
  | 'sortableText'
  | 'bigint'
  | 'double precision'
  | 'numeric'
  | 'boolean'
  | 'date'
  | 'timestamptz'
  | 'uuid'
  | 'jsonb';

/** Returns a value as a parameter of the operand's type. */
export function typed(type: OperandType, value: unknown): Sql {
  return sql`${parameter(value)}::${typeName(type)}`;
}

/** Returns a list of values as one parameter. */
export function typedList(type: OperandType, values: readonly unknown[]): Sql {
  return sql`${parameter(values)}::${typeName(type)}[]`;
}

const typeName = (type: OperandType): Sql => Sql.code(type === 'sortableText' ? 'text' : type);

const systemOperands: ReadonlyMap<string, Operand> = new Map(
  (
    [
      ['id', 'id', 'uuid', 'uuid'],
      ['version', 'version', 'integer', 'bigint'],
      ['createdAt', systemColumns.createdAt, 'datetime', 'timestamptz'],
      ['updatedAt', systemColumns.updatedAt, 'datetime', 'timestamptz'],
      ['deletedAt', systemColumns.deletedAt, 'datetime', 'timestamptz'],
      ['createdBy', systemColumns.createdBy, 'text', 'text'],
      ['updatedBy', systemColumns.updatedBy, 'text', 'text'],
    ] as const
  ).map(([name, column, kind, type]) => [
    name,
    {
      name,
      kind,
      type,
      isOrdered: true,
      isNullable: name === 'deletedAt',
      isIndexed: name === 'id',
      field: undefined,
      expression: (alias) => sql`${alias}.${identifier(column)}`,
    },
  ]),
);

export const systemAttributeNames: readonly string[] = [...systemOperands.keys()];

/** Returns the field or system attribute of that name; undefined if there is none. */
export function operandOf({ model, computed }: PlannedCollection, name: string): Operand | undefined {
  const field = model.fields.get(name);
  if (!field) return systemOperandOf(model, name);
  const compute = computed.get(name);
  const isSealed = field.type === 'ENCRYPTED';
  return {
    name,
    kind: isSealed ? 'sealed' : kindOf(field),
    type: typeOf(field, model.storageMode === 'JSONB'),
    isOrdered: (field.traits.isOrdered || field.type === 'ROLLUP_SUMMARY') && !isSealed,
    isNullable: true, // also of a required field: workers with the version before may still write none
    isIndexed: field.isIndexed && field.traits.column !== undefined,
    field,
    expression: compute ?? ((alias) => fieldExpression(model, field, alias)),
    ...(isSearchable(field) && { searched: (alias) => searchDocument(model, alias) ?? sql`null` }),
  };
}

function systemOperandOf({ definition }: CollectionModel, name: string): Operand | undefined {
  const operand = systemOperands.get(name);
  const parts = operand && !operand.isNullable ? (definition.indexes ?? []).flat() : [];
  const isIndexedDownwards = parts.includes(`-${name}`) && !parts.includes(name);
  return operand && isIndexedDownwards ? { ...operand, isIndexedDownwards } : operand;
}

/** Returns the value at a path of a JSON field. */
export function jsonPathOperand(operand: Operand, keys: readonly string[]): Operand {
  const path = sql`array[${join(
    keys.map((key) => sql`${parameter(key)}::text`),
    sql`, `,
  )}]`;
  return {
    ...operand,
    name: [operand.name, ...keys].join('.'),
    kind: 'jsonPath',
    type: 'jsonb',
    isIndexed: false,
    ...(operand.isIndexed && { inside: { document: (alias: Sql) => operand.expression(alias), keys } }),
    expression: (alias) => sql`(${operand.expression(alias)} #> ${path})`,
  };
}

/** Returns the JSON value as text, null for JSON null. */
export const asText = (json: Sql): Sql => sql`(${json} #>> ${constant('{}')})`;

function kindOf(field: FieldModel): OperandKind {
  const { kind } = field.traits;
  if (kind === 'reference') return 'uuid';
  return kind === 'list' && field.type === 'MULTI_PICKLIST' ? 'textList' : kind;
}

function typeOf(field: FieldModel, isJsonb: boolean): OperandType {
  switch (field.traits.kind) {
    case 'text':
      return 'text';
    case 'integer':
      return 'bigint';
    case 'number':
      return field.type === 'DOUBLE' ? 'double precision' : 'numeric';
    case 'boolean':
      return 'boolean';
    case 'date':
      return isJsonb && field.type !== 'FORMULA' ? 'sortableText' : 'date';
    case 'datetime':
      return isJsonb && field.type !== 'FORMULA' ? 'sortableText' : 'timestamptz';
    case 'reference':
      return 'uuid';
    case 'json':
      return 'jsonb';
    case 'list':
      return !isJsonb && field.traits.column === 'text[]' ? 'text' : 'jsonb';
  }
}
