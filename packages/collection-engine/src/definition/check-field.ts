import type { FieldConstraints, FieldDefinition, FieldType } from '@drover/contracts';
import { reservedFieldNames, type FieldModel } from '../model/collection-model.js';
import { compileFieldPattern } from '../pattern/compile-field-pattern.js';
import { fieldCodec } from '../values/field-codec.js';
import { isCurrencyCode } from '../values/text-values.js';
import { ValueProblem } from '../values/value-problem.js';
import type { DefinitionProblem } from './shape-problems.js';

const maxNameBytes = 63;

/** Properties that belong to some types only; a type in `needs` must have it. */
const properties: Readonly<
  Record<
    'values' | 'picklist' | 'dependsOn' | 'references' | 'autoNumber' | 'formula' | 'rollup' | 'currency',
    { readonly types: readonly FieldType[]; readonly isNeeded: boolean; readonly example: string }
  >
> = {
  values: { types: ['PICKLIST', 'MULTI_PICKLIST'], isNeeded: true, example: '["new", "paid"]' },
  picklist: { types: ['PICKLIST', 'MULTI_PICKLIST'], isNeeded: false, example: '"countries"' },
  dependsOn: {
    types: ['PICKLIST', 'MULTI_PICKLIST'],
    isNeeded: false,
    example: '{ "field": "country", "values": { "us": ["ny"] } }',
  },
  references: { types: ['LOOKUP', 'MASTER_DETAIL'], isNeeded: true, example: '{ "collection": "customers" }' },
  autoNumber: { types: ['AUTO_NUMBER'], isNeeded: false, example: '{ "prefix": "A-", "digits": 6 }' },
  formula: {
    types: ['FORMULA'],
    isNeeded: true,
    example: '{ "expression": "price * quantity", "returns": "DOUBLE" }',
  },
  rollup: {
    types: ['ROLLUP_SUMMARY'],
    isNeeded: true,
    example: '{ "collection": "lines", "via": "order", "function": "COUNT" }',
  },
  currency: { types: ['CURRENCY'], isNeeded: false, example: '{ "code": "EUR" }' },
};

/** Kinds of fields that each constraint is for. */
export const constraintKinds: Readonly<Record<keyof FieldConstraints, readonly FieldModel['traits']['kind'][]>> = {
  minValue: ['integer', 'number'],
  maxValue: ['integer', 'number'],
  minLength: ['text'],
  maxLength: ['text'],
  pattern: ['text'],
  enum: ['text', 'integer', 'number'],
  minItems: ['list'],
  maxItems: ['list'],
  itemType: ['list'],
};

/** Checks what can be said about a field alone. */
export function checkField(field: FieldModel, pointer: string): DefinitionProblem[] {
  return [
    ...checkName(field.name, pointer),
    ...checkProperties(field.definition, pointer),
    ...checkFlags(field, pointer),
    ...checkConstraints(field, `${pointer}/constraints`),
    ...checkCurrency(field.definition, `${pointer}/currency`),
    ...checkDefault(field, `${pointer}/default`),
  ];
}

/**
 * Checks what the pattern of names cannot: PostgreSQL cuts identifiers after 63 bytes, and letters beyond ASCII have several; a member
 * `__proto__` is lost where a program assigns it to an object.
 */
export function checkIdentifier(name: string, pointer: string): DefinitionProblem[] {
  if (name === '__proto__')
    return [{ pointer, message: '"__proto__" has a meaning of its own in JavaScript. Choose another name.' }];
  const bytes = Buffer.byteLength(name);
  if (bytes <= maxNameBytes) return [];
  return [
    { pointer, message: `"${name}" has ${bytes} bytes in UTF-8. Choose a name of at most ${maxNameBytes} bytes.` },
  ];
}

function checkName(name: string, pointer: string): DefinitionProblem[] {
  if (!reservedFieldNames.has(name)) return checkIdentifier(name, `${pointer}/name`);
  const message = `Every record has an attribute "${name}" of the platform. Choose another name.`;
  return [{ pointer: `${pointer}/name`, message }];
}

function checkProperties(field: FieldDefinition, pointer: string): DefinitionProblem[] {
  return Object.entries(properties).flatMap(([name, { types, isNeeded, example }]) => {
    const isGiven = field[name as keyof typeof properties] !== undefined; // a key of the table above
    const belongs = types.includes(field.type);
    if (isGiven && !belongs) {
      const message = `Only fields of type ${types.join(' or ')} have "${name}". Remove it, or change the type.`;
      return [{ pointer: `${pointer}/${name}`, message }];
    }
    if (isGiven || !belongs || !isNeeded || (name === 'values' && field.picklist !== undefined)) return [];
    return [{ pointer: `${pointer}/${name}`, message: `A field of type ${field.type} needs "${name}": ${example}.` }];
  });
}

/** Returns why no index can hold a field; undefined if one can. */
export function notIndexable({ name, type, traits }: FieldModel): string | undefined {
  if (type === 'ENCRYPTED') return `Values of "${name}" are encrypted: equal ones do not look equal in the database.`;
  if (traits.column === undefined) return `Values of "${name}" are computed when they are read.`;
  if (traits.kind === 'json' || traits.kind === 'list') return `"${name}" is of type ${type}, which has no order.`;
  return undefined;
}

function checkFlags(field: FieldModel, pointer: string): DefinitionProblem[] {
  const { definition, type, traits } = field;
  const reason = notIndexable(field);
  const problems: DefinitionProblem[] = [];
  const refuse = (flag: string, message: string): void =>
    void problems.push({ pointer: `${pointer}/${flag}`, message });
  if (definition.unique && reason !== undefined) refuse('unique', `${reason} Remove "unique".`);
  if (definition.indexed && reason !== undefined && (type === 'ENCRYPTED' || traits.column === undefined)) {
    refuse('indexed', `${reason} Remove "indexed".`);
  }
  if (definition.searchable && (traits.kind !== 'text' || type === 'ENCRYPTED' || traits.column === undefined)) {
    refuse('searchable', `Full-text search is for stored texts, and "${field.name}" is ${type}. Remove "searchable".`);
  }
  if (definition.patternIndexed && (traits.kind !== 'text' || type === 'ENCRYPTED' || traits.column === undefined)) {
    refuse('patternIndexed', `Patterns are for stored texts, and "${field.name}" is ${type}. Remove "patternIndexed".`);
  }
  for (const flag of ['required', 'immutable', 'default', 'defaultFormula'] as const) {
    if (definition[flag] && !traits.isWritable) {
      refuse(flag, `The platform sets fields of type ${type}. Remove "${flag}".`);
    }
  }
  if (type === 'MASTER_DETAIL' && definition.required === false) {
    refuse('required', 'A MASTER_DETAIL field is always required. Remove "required", or use a LOOKUP.');
  }
  if (type === 'EXTERNAL_ID' && definition.unique === false) {
    refuse('unique', 'An EXTERNAL_ID field is always unique. Remove "unique", or use a STRING.');
  }
  return problems;
}

function checkConstraints({ definition, traits, type }: FieldModel, pointer: string): DefinitionProblem[] {
  const { constraints = {} } = definition;
  const misplaced = Object.entries(constraintKinds).flatMap(([name, kinds]) => {
    if (constraints[name as keyof FieldConstraints] === undefined) return []; // a key of the table above
    if (traits.isWritable && kinds.includes(traits.kind)) return [];
    return [{ pointer: `${pointer}/${name}`, message: `Fields of type ${type} have no "${name}". Remove it.` }];
  });
  const swapped = (['Value', 'Length', 'Items'] as const).flatMap((what) => {
    const [min, max] = [constraints[`min${what}`], constraints[`max${what}`]];
    if (min === undefined || max === undefined || min <= max) return [];
    return [{ pointer: `${pointer}/min${what}`, message: `${min} is larger than max${what}, ${max}. Swap them.` }];
  });
  return [...misplaced, ...swapped, ...checkPattern(constraints.pattern, `${pointer}/pattern`)];
}

function checkPattern(pattern: string | undefined, pointer: string): DefinitionProblem[] {
  const compiled = pattern === undefined ? undefined : compileFieldPattern(pattern);
  if (!compiled || !('problem' in compiled)) return [];
  return [{ pointer, message: `The regular expression ${JSON.stringify(pattern)} is invalid: ${compiled.problem}.` }];
}

function checkCurrency({ currency }: FieldDefinition, pointer: string): DefinitionProblem[] {
  if (!currency) return [];
  if ((currency.code === undefined) === (currency.codeField === undefined)) {
    return [{ pointer, message: 'Give either "code", or "codeField".' }];
  }
  if (currency.code === undefined || isCurrencyCode(currency.code)) return [];
  const message = `"${currency.code}" is not a currency of ISO 4217. Use a code such as "EUR".`;
  return [{ pointer: `${pointer}/code`, message }];
}

function checkDefault(field: FieldModel, pointer: string): DefinitionProblem[] {
  const { definition, type, traits } = field;
  if (definition.default === undefined || definition.default === null || !traits.isWritable) return [];
  if (type === 'ENCRYPTED' || traits.kind === 'reference') {
    return [{ pointer, message: `Fields of type ${type} have no default. Remove it.` }];
  }
  const stored = fieldCodec(field).parse(definition.default);
  return stored instanceof ValueProblem ? [{ pointer, message: `The default is invalid. ${stored.message}` }] : [];
}
