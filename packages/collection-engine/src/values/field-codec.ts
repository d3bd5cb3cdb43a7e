import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { checksOf } from './constraint-checks.js';
import type { FieldCipher } from './field-cipher.js';
import { indexedBytes } from './indexed-bytes.js';
import { roundLiterals } from './number-literal.js';
import { decimalReader, readDouble, readInteger, readLong } from './number-values.js';
import { multiPicklistReader, picklistReader, readArray, readGeolocation, readJson } from './structured-values.js';
import {
  readCurrencyCode,
  readEmail,
  readExternalId,
  readPhone,
  readReference,
  readText,
  readUrl,
} from './text-values.js';
import { readDate, readDatetime } from './time-values.js';
import { mistyped, ValueProblem, type ReadValue, type StoredValue } from './value-problem.js';

/** Checks and converts the values of one field. Compiled once per version of a collection. */
export interface FieldCodec {
  readonly field: FieldModel;
  /** Value of records that are created without one; null if there is none. An absent value of a required field is a problem. */
  readonly defaultValue: StoredValue;
  /** Converts a JSON value to what is stored. `null` and `undefined` are no value. */
  parse(value: unknown): StoredValue | ValueProblem;
}

export interface CodecOptions {
  /** Encrypts values of an ENCRYPTED field. Without it they are checked only. */
  readonly seal?: (text: string) => string;
  /** Most bytes of a text that an index can hold. */
  readonly maxBytes?: number | undefined;
  /** Whether another field takes its currency from this one. */
  readonly holdsCurrencyCode?: boolean;
}

const compiled = new WeakMap<CollectionModel, ReadonlyMap<string, FieldCodec>>();

/** Returns the codecs of all fields by name. They are made once per model: one process has one cipher. */
export function codecsOf(collection: CollectionModel, cipher: FieldCipher): ReadonlyMap<string, FieldCodec> {
  const known = compiled.get(collection);
  if (known) return known;
  const fields = [...collection.fields.values()];
  const currencyCodes = new Set(fields.map(({ definition }) => definition.currency?.codeField));
  const codecs = new Map(
    fields.map((field) => [
      field.name,
      fieldCodec(field, {
        ...(field.type === 'ENCRYPTED' && { seal: (text) => cipher.seal(collection, field, text) }),
        maxBytes: indexedBytes(collection, field),
        holdsCurrencyCode: currencyCodes.has(field.name),
      }),
    ]),
  );
  compiled.set(collection, codecs);
  return codecs;
}

export function fieldCodec(field: FieldModel, options: CodecOptions = {}): FieldCodec {
  const { seal } = options;
  const read = options.holdsCurrencyCode ? both(readerOf(field), readCurrencyCode) : readerOf(field);
  const checks = checksOf(field, options.maxBytes);
  const isExact = exactTypes.has(field.type);
  const parse = (value: unknown): StoredValue | ValueProblem => {
    if (value === null || value === undefined) return field.isRequired ? named(field, missing) : null;
    const stored = read(isExact ? value : roundLiterals(value));
    if (stored instanceof ValueProblem) return named(field, stored);
    for (const check of checks) {
      const problem = check(stored);
      if (problem) return named(field, problem);
    }
    return seal ? seal(stored as string) : stored; // only texts are encrypted
  };
  return { field, defaultValue: defaultOf(field, parse), parse };
}

/** Types whose values keep all digits of a number. */
const exactTypes: ReadonlySet<string> = new Set(['LONG', 'CURRENCY', 'PERCENT', 'JSON', 'ARRAY']);

const missing = new ValueProblem('nullable', 'must have a value');

/** A default was checked with the definition. */
function defaultOf({ definition }: FieldModel, parse: FieldCodec['parse']): StoredValue {
  if (definition.default === undefined || definition.default === null) return null;
  const stored = parse(definition.default);
  return stored instanceof ValueProblem ? null : stored;
}

const named = ({ name }: FieldModel, { constraint, message, path }: ValueProblem): ValueProblem =>
  new ValueProblem(constraint, `Field "${name}" ${message}.`, path);

const both =
  (first: ReadValue, second: ReadValue): ReadValue =>
  (value) => {
    const stored = first(value);
    return stored instanceof ValueProblem ? stored : second(stored);
  };

const computed: ReadValue = () => new ValueProblem('readOnly', 'is set by the platform; leave it out');

function readerOf({ type, definition }: FieldModel): ReadValue {
  switch (type) {
    case 'STRING':
    case 'TEXT':
    case 'RICH_TEXT':
    case 'ENCRYPTED':
      return readText;
    case 'INTEGER':
      return readInteger;
    case 'LONG':
      return readLong;
    case 'DOUBLE':
      return readDouble;
    case 'BOOLEAN':
      return (value) => (typeof value === 'boolean' ? value : mistyped('true or false', value));
    case 'DATE':
      return readDate;
    case 'DATETIME':
      return readDatetime;
    case 'JSON':
      return readJson;
    case 'ARRAY':
      return readArray;
    case 'LOOKUP':
    case 'MASTER_DETAIL':
      return readReference;
    case 'PICKLIST':
      return picklistReader(definition.values ?? []);
    case 'MULTI_PICKLIST':
      return multiPicklistReader(definition.values ?? []);
    case 'CURRENCY':
      return decimalReader(18, 2);
    case 'PERCENT':
      return decimalReader(8, 4);
    case 'PHONE':
      return readPhone;
    case 'EMAIL':
      return readEmail;
    case 'URL':
      return readUrl;
    case 'EXTERNAL_ID':
      return readExternalId;
    case 'GEOLOCATION':
      return readGeolocation;
    case 'AUTO_NUMBER':
    case 'FORMULA':
    case 'ROLLUP_SUMMARY':
      return computed;
  }
}
