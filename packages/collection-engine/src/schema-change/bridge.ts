import { compileDefault } from '../formula/compile-formula.js';
import { formulaSql } from '../formula/formula-sql.js';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, join, sql, type Sql } from '../sql/sql.js';
import { nextAutoNumber } from '../storage/auto-numbers.js';
import { fieldExpression, recordsSchema, tableOf } from '../storage/field-expression.js';
import { assignField, convertedValue, isConvertible, storedConstant, storedValue } from './convert-value.js';

/** A field that gets another column because its type changes. */
export interface RetypedField {
  readonly before: FieldModel;
  readonly after: FieldModel;
}

/**
 * What the trigger of a change does with every row that is written while workers have different versions of the definition: it fills new
 * fields that must have a value, and keeps both columns of a retyped field equal. The backfill only touches rows, and the trigger does
 * the rest, so a row is never converted in two ways.
 */
export interface Bridge {
  readonly collection: CollectionModel;
  readonly retyped: readonly RetypedField[];
  /** New fields of which records must have a value, and which the platform can give one. */
  readonly filled: readonly FieldModel[];
}

export const isBridgeNeeded = ({ retyped, filled }: Bridge): boolean => convertible(retyped).length + filled.length > 0;

/** Several changes may leave theirs until the clean-up; PostgreSQL runs triggers in the order of their names. */
export const bridgeName = ({ collection }: Bridge): string =>
  `${collection.table}_b_${String(collection.version).padStart(8, '0')}`;

/** Returns the statements that create the trigger, or replace it with an equal one. */
export function createBridge(bridge: Bridge): Sql {
  const name = bridgeName(bridge);
  const trigger = identifier(recordsSchema, name);
  const body = constant(bridgeBody(bridge).render().text);
  return sql`create or replace function ${trigger}() returns trigger language plpgsql as ${body};
    create or replace trigger ${identifier(name)} before insert or update on ${tableOf(bridge.collection)}
      for each row execute function ${trigger}()`;
}

/** Returns the condition for rows that the trigger has not filled yet. */
export function isUnfilled({ collection, retyped, filled }: Bridge, row: Sql): Sql {
  const conditions = [
    ...filled.map((field) => sql`${fieldExpression(collection, field, row)} is null`),
    ...convertible(retyped).map(({ before, after }) => {
      const converted = convertedValue(collection, before, after, row);
      return sql`(${fieldExpression(collection, after, row)} is null and ${fieldExpression(collection, before, row)} is not null and ${converted} is not null)`;
    }),
  ];
  return join(conditions, sql` or `);
}

/** Returns the condition for rows with a value that the new type cannot hold. */
export function isInTheWay(collection: CollectionModel, { before, after }: RetypedField, row: Sql): Sql {
  const hasValue = sql`${fieldExpression(collection, before, row)} is not null`;
  const hasOtherTarget = before.definition.references?.collection !== after.definition.references?.collection;
  if (hasOtherTarget || !isConvertible(before, after)) return hasValue;
  return sql`${hasValue} and ${convertedValue(collection, before, after, row)} is null`;
}

const convertible = (retyped: readonly RetypedField[]): readonly RetypedField[] =>
  retyped.filter(({ before, after }) => isConvertible(before, after));

function bridgeBody({ collection, retyped, filled }: Bridge): Sql {
  const statements = [
    ...convertible(retyped).map((field) => synchronize(collection, field)),
    // Formulas may read constants, and formulas before them.
    ...filled
      .filter(({ definition }) => definition.defaultFormula === undefined)
      .map((field) => fill(collection, field)),
    ...filled
      .filter(({ definition }) => definition.defaultFormula !== undefined)
      .map((field) => fill(collection, field)),
  ];
  return sql`begin ${join(statements, sql` `)} return new; end`;
}

/** Every worker writes only the column that its version of the definition names. */
function synchronize(collection: CollectionModel, { before, after }: RetypedField): Sql {
  const [fresh, stored] = [sql`new`, sql`old`];
  const was = (field: FieldModel, row: Sql): Sql => fieldExpression(collection, field, row);
  const toAfter = assignField(collection, after, convertedValue(collection, before, after, fresh));
  const toBefore = isConvertible(after, before)
    ? assignField(collection, before, convertedValue(collection, after, before, fresh))
    : sql`null;`;
  const isUnconverted = sql`${was(after, fresh)} is null and ${was(before, fresh)} is not null`;
  return sql`
    if tg_op = 'INSERT' then
      if ${isUnconverted} then ${toAfter} elsif ${was(before, fresh)} is null then ${toBefore} end if;
    elsif ${was(after, fresh)} is distinct from ${was(after, stored)} then ${toBefore}
    elsif ${was(before, fresh)} is distinct from ${was(before, stored)} or (${isUnconverted}) then ${toAfter}
    end if;`;
}

function fill(collection: CollectionModel, field: FieldModel): Sql {
  const value = field.type === 'AUTO_NUMBER' ? nextAutoNumber(collection, field) : storedDefault(collection, field);
  const stored = field.type === 'AUTO_NUMBER' && collection.storageMode === 'JSONB' ? sql`to_jsonb(${value})` : value;
  return sql`if ${fieldExpression(collection, field, sql`new`)} is null then ${
    collection.storageMode === 'JSONB'
      ? sql`new.data := new.data || jsonb_build_object(${constant(field.column)}, ${stored});`
      : assignField(collection, field, stored)
  } end if;`;
}

/** Returns the constant that a field is filled with; undefined if each record gets a value of its own. */
export function constantFill(collection: CollectionModel, field: FieldModel): Sql | undefined {
  const { default: value = null, defaultFormula } = field.definition;
  const isConstant = field.type !== 'AUTO_NUMBER' && defaultFormula === undefined && value !== null;
  return isConstant ? storedConstant(collection, field, value) : undefined;
}

/** A formula that gives nothing, or nothing that the field can hold, leaves the record without a value; the gate then refuses it. */
function storedDefault(collection: CollectionModel, field: FieldModel): Sql {
  if (field.definition.defaultFormula === undefined) return storedConstant(collection, field, field.definition.default);
  const expression = compileDefault(collection, field);
  if ('problem' in expression) return sql`null`;
  const rollup = (): Sql => sql`null::numeric`; // defaults read no rollups
  return storedValue(collection, field, formulaSql(expression, { collection, alias: sql`new`, rollup }));
}
