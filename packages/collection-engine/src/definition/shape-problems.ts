import { nearestName } from '@drover/service-kit';
import { isStorable } from '../values/text-values.js';
import { shown } from '../values/value-problem.js';

/** One thing that is wrong with a definition: where, as a JSON pointer, and what to do. */
export interface DefinitionProblem {
  readonly pointer: string;
  readonly message: string;
}

/** The part of JSON Schema that the schemas of definitions use. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

/** Returns every place where `value` differs from the schema. Names of properties that are unknown come with a similar one. */
export function shapeProblems(jsonSchema: object, value: unknown, pointer = ''): DefinitionProblem[] {
  const schema: Schema = jsonSchema; // TypeBox types hide the keywords
  if (schema.anyOf) return checkChoice(schema.anyOf, value, pointer);
  switch (schema.type) {
    case 'object':
      return schema.properties ? checkObject(schema, value, pointer) : checkRecord(value, pointer);
    case 'array':
      return checkArray(schema, value, pointer);
    case 'string':
      return checkText(schema, value, pointer);
    case 'number':
    case 'integer':
      return checkNumber(schema, value, pointer);
    case 'boolean':
      return typeof value === 'boolean' ? [] : expected('true or false', value, pointer);
    default:
      return [];
  }
}

/** Escapes a name for a JSON pointer. */
export const pointerPart = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

const expected = (what: string, value: unknown, pointer: string): DefinitionProblem[] => [
  { pointer, message: value === undefined ? `Add it: ${what}.` : `Must be ${what}, not ${shown(value)}.` },
];

function checkChoice(choices: readonly Schema[], value: unknown, pointer: string): DefinitionProblem[] {
  if (
    choices.some((choice) => ('const' in choice ? choice.const === value : shapeProblems(choice, value).length === 0))
  ) {
    return [];
  }
  const words = choices.flatMap((choice) => (typeof choice.const === 'string' ? [choice.const] : []));
  if (words.length === 0) return expected(choices.map(({ type }) => `a ${type}`).join(' or '), value, pointer);
  const near = typeof value === 'string' ? nearestName(value, words) : undefined;
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  return expected(`one of ${words.join(', ')}`, value, pointer).map((problem) => ({
    ...problem,
    message: problem.message + hint,
  }));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkRecord(value: unknown, pointer: string): DefinitionProblem[] {
  return isObject(value) ? [] : expected('an object', value, pointer);
}

function checkObject({ properties = {}, required = [] }: Schema, value: unknown, pointer: string): DefinitionProblem[] {
  if (!isObject(value)) return expected('an object', value, pointer);
  const names = Object.keys(properties);
  const unknown = Object.keys(value).flatMap((name) => {
    if (Object.hasOwn(properties, name)) return [];
    const near = nearestName(name, names);
    const hint = near === undefined ? `Known properties are ${names.join(', ')}.` : `Did you mean "${near}"?`;
    return { pointer: `${pointer}/${pointerPart(name)}`, message: `Property "${name}" is unknown. ${hint}` };
  });
  const known = Object.entries(properties).flatMap(([name, schema]) => {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given === undefined && !required.includes(name)) return [];
    return shapeProblems(schema, given, `${pointer}/${name}`);
  });
  return [...unknown, ...known];
}

function checkArray(
  { items, minItems = 0, maxItems = Infinity, uniqueItems }: Schema,
  value: unknown,
  pointer: string,
) {
  if (!Array.isArray(value)) return expected('an array', value, pointer);
  const problems: DefinitionProblem[] = [];
  if (value.length < minItems) problems.push({ pointer, message: `Must have at least ${minItems} items.` });
  if (value.length > maxItems) {
    return [{ pointer, message: `Must have at most ${maxItems} items, not ${value.length}.` }];
  }
  if (uniqueItems && new Set(value).size < value.length) {
    problems.push({ pointer, message: 'Must not have the same item twice.' });
  }
  if (!items) return problems;
  return [...problems, ...value.flatMap((item, index) => shapeProblems(items, item, `${pointer}/${index}`))];
}

function checkText(schema: Schema, value: unknown, pointer: string): DefinitionProblem[] {
  const { minLength = 0, maxLength = Infinity, pattern, description } = schema;
  if (typeof value !== 'string') return expected('a text', value, pointer);
  if (!isStorable(value)) {
    return [{ pointer, message: 'Must be Unicode text without the character NUL.' }];
  }
  const length = Array.from(value).length;
  if (length < minLength) return [{ pointer, message: `Must have at least ${minLength} characters.` }];
  if (length > maxLength) return [{ pointer, message: `Must have at most ${maxLength} characters, not ${length}.` }];
  if (pattern === undefined || new RegExp(pattern, 'u').test(value)) return [];
  return [{ pointer, message: `${shown(value)} is not allowed. ${description ?? `It must match ${pattern}`}.` }];
}

function checkNumber({ type, minimum = -Infinity, maximum = Infinity }: Schema, value: unknown, pointer: string) {
  const isNumber = typeof value === 'number' && (type === 'integer' ? Number.isInteger(value) : Number.isFinite(value));
  if (!isNumber) return expected(type === 'integer' ? 'an integer' : 'a number', value, pointer);
  if (value >= minimum && value <= maximum) return [];
  const bounds = [
    ...(minimum > -Infinity ? [`at least ${minimum}`] : []),
    ...(maximum < Infinity ? [`at most ${maximum}`] : []),
  ];
  return [{ pointer, message: `Must be ${bounds.join(' and ')}, not ${value}.` }];
}
