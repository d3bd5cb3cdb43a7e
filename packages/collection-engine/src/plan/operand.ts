import { systemColumns, type FieldModel } from '../model/collection-model.js';
import { constant, identifier, join, parameter, Sql, sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
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
  /** The field, unless it is a system attribute or computed from several. */
  readonly field: FieldModel | undefined;
  expression(alias: Sql): Sql;
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
  if (!field) return systemOperands.get(name);
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
  };
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
