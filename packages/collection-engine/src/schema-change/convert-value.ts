import type { FieldType } from '@drover/contracts';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, sql, type Sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
import { timeText } from '../storage/time-expression.js';

type Mode = Pick<CollectionModel, 'storageMode'>;

/** What a value is on its way from one type to another. Numbers of all types are `numeric`, so that none loses a digit. */
type Form = 'text' | 'number' | 'boolean' | 'date' | 'datetime' | 'reference' | 'json' | 'texts' | 'sealed';

/**
 * Returns whether a field of the new type reads and writes the same column, or the same key of the document, as one of the type
 * before: workers with either version of the definition then see the same values.
 */
export function hasSameStorage({ storageMode }: Mode, before: FieldModel, after: FieldModel): boolean {
  if (before.traits.column === undefined || after.traits.column === undefined) return false;
  if (storageMode === 'PHYSICAL_TABLE') return before.traits.column === after.traits.column;
  return documentForm(before) === documentForm(after);
}

/** Types with the same form have the same expression and the same JSON in a document. */
function documentForm(field: FieldModel): string {
  if (field.type === 'DOUBLE') return 'double';
  return field.traits.kind === 'integer' ? 'integer' : formOf(field);
}

/** Returns whether some values of the type before can be converted. */
export function isConvertible(before: FieldModel, after: FieldModel): boolean {
  return convertForm(formOf(before), formOf(after), sql`v`) !== undefined && after.type !== 'GEOLOCATION';
}

/** Returns whether every value of the type before can be converted, so that none has to be looked at. */
export function isAlwaysConvertible(before: FieldModel, after: FieldModel): boolean {
  const [from, to] = [formOf(before), formOf(after)];
  if (to === 'text') return from !== 'texts' && isConvertible(before, after);
  if (from === 'number') return after.type === before.type || (before.type === 'INTEGER' && after.type !== 'PERCENT');
  if (from === 'json') return after.type === 'JSON';
  return from === to
    ? from !== 'sealed'
    : (from === 'date' && to === 'datetime') || (from === 'text' && to === 'texts');
}

/** Returns the value of a field as its other type stores it; null if that type cannot hold it without a loss. */
export function convertedValue(mode: Mode, before: FieldModel, after: FieldModel, row: Sql): Sql {
  const value = convertForm(formOf(before), formOf(after), readValue(mode, before, row));
  if (value === undefined) throw new Error(`values of ${before.type} cannot be converted to ${after.type}`);
  return storedValue(mode, after, value);
}

/** Returns a default, or another JSON value of a definition, as a field stores it. */
export function storedConstant(mode: Mode, field: FieldModel, value: unknown): Sql {
  const document = sql`${constant(JSON.stringify(value))}::jsonb`;
  const text = typeof value === 'string' ? constant(value) : constant(JSON.stringify(value));
  switch (formOf(field)) {
    case 'text':
    case 'sealed':
      return storedValue(mode, field, sql`${text}::text`);
    case 'number':
      return storedValue(mode, field, sql`${text}::numeric`);
    case 'boolean':
      return storedValue(mode, field, sql`${text}::boolean`);
    case 'date':
      return storedValue(mode, field, sql`${text}::date`);
    case 'datetime':
      return storedValue(mode, field, sql`${text}::timestamptz`);
    case 'reference':
      return storedValue(mode, field, sql`${text}::uuid`);
    case 'json':
      return document;
    case 'texts':
      return storedValue(
        mode,
        field,
        sql`(select coalesce(array_agg(v), '{}') from jsonb_array_elements_text(${document}) v)`,
      );
  }
}

function formOf({ type, traits }: FieldModel): Form {
  if (type === 'ENCRYPTED') return 'sealed';
  if (type === 'MULTI_PICKLIST') return 'texts';
  switch (traits.kind) {
    case 'integer':
    case 'number':
      return 'number';
    case 'list':
      return 'json';
    default:
      return traits.kind;
  }
}

function readValue(mode: Mode, field: FieldModel, row: Sql): Sql {
  const value = fieldExpression(mode, field, row);
  const isDocument = mode.storageMode === 'JSONB';
  switch (formOf(field)) {
    case 'number':
      // A double has 17 digits, of which a cast to numeric would keep 15.
      return sql`(${value}::text::numeric)`;
    case 'date':
      return isDocument ? sql`(${value}::date)` : value;
    case 'datetime':
      return isDocument ? sql`(${value}::timestamptz)` : value;
    case 'texts':
      return isDocument ? sql`(select array_agg(v) from jsonb_array_elements_text(${value}) v)` : value;
    default:
      return value;
  }
}

/** Returns a value of the form of a field as it is stored; null for a number that the type cannot hold. */
export function storedValue({ storageMode }: Mode, field: FieldModel, value: Sql): Sql {
  const fitting = formOf(field) === 'number' ? fittingNumber(field.type, value) : value;
  if (storageMode === 'PHYSICAL_TABLE') return fitting;
  switch (formOf(field)) {
    case 'date':
      return sql`to_jsonb(to_char(${fitting}, 'YYYY-MM-DD'))`;
    case 'datetime':
      return sql`to_jsonb(${timeText(fitting)})`;
    case 'json':
      return fitting;
    default:
      return sql`to_jsonb(${fitting})`;
  }
}

/** Returns null for a number that the type cannot hold. */
function fittingNumber(type: FieldType, value: Sql): Sql {
  switch (type) {
    case 'INTEGER':
      return sql`(case when ${value} = trunc(${value}) and ${value} between -2147483648 and 2147483647 then ${value}::integer end)`;
    case 'LONG':
      return sql`(case when ${value} = trunc(${value}) and ${value} between -9223372036854775808 and 9223372036854775807 then ${value}::bigint end)`;
    case 'CURRENCY':
      return sql`(case when ${value} = round(${value}, 2) and abs(${value}) < 1e16 then ${value}::numeric(18,2) end)`;
    case 'PERCENT':
      return sql`(case when ${value} = round(${value}, 4) and abs(${value}) < 1e4 then ${value}::numeric(8,4) end)`;
    default:
      return sql`(case when ${value}::double precision::text::numeric = ${value} then ${value}::double precision end)`;
  }
}

/** Returns undefined if no value of one form has an equivalent in the other. */
function convertForm(from: Form, to: Form, value: Sql): Sql | undefined {
  if (from === to) return from === 'sealed' ? undefined : value;
  if (to === 'text') return toText(from, value);
  if (from === 'text') return fromText(to, value);
  if (from === 'date' && to === 'datetime') return sql`(${value}::timestamp at time zone 'UTC')`;
  if (from === 'datetime' && to === 'date') {
    const local = sql`(${value} at time zone 'UTC')`;
    return sql`(case when ${local} = date_trunc('day', ${local}) then ${local}::date end)`;
  }
  if (from === 'texts' && to === 'json') return sql`to_jsonb(${value})`;
  return undefined;
}

function toText(from: Form, value: Sql): Sql | undefined {
  switch (from) {
    case 'number':
    case 'boolean':
    case 'reference':
      return sql`(${value}::text)`;
    case 'date':
      return sql`to_char(${value}, 'YYYY-MM-DD')`;
    case 'datetime':
      return timeText(value);
    case 'texts':
      return sql`(case when cardinality(${value}) = 1 then (${value})[1] end)`;
    default:
      return undefined;
  }
}

/** Texts that another text would be made of again, such as `007` or `+1`, are no numbers: the difference would be lost. */
function fromText(to: Form, value: Sql): Sql | undefined {
  switch (to) {
    case 'number':
      return sql`(case when ${value} ~ '^-?(0|[1-9][0-9]{0,18})([.][0-9]{1,17})?$' then ${value}::numeric end)`;
    case 'boolean':
      return sql`(case ${value} when 'true' then true when 'false' then false end)`;
    case 'date':
      return sql`drover.text_to_date(${value})`;
    case 'datetime':
      return sql`drover.text_to_datetime(${value})`;
    case 'texts':
      return sql`(case when ${value} is not null then array[${value}] end)`;
    default:
      return undefined;
  }
}

/** Returns the statement of a trigger that sets a field of the row `new` to a stored value; null removes it. */
export function assignField({ storageMode }: Mode, field: FieldModel, stored: Sql): Sql {
  if (storageMode === 'PHYSICAL_TABLE') return sql`new.${identifier(field.column)} := ${stored};`;
  const key = constant(field.column);
  return sql`new.data := case when ${stored} is null then new.data - ${key} else new.data || jsonb_build_object(${key}, ${stored}) end;`;
}
