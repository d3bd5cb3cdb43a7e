import type { FieldConstraints } from '@drover/contracts';
import { findInexact, roundLiterals } from './number-literal.js';
import { mistyped, shown, ValueProblem, type ReadValue, type StoredValue } from './value-problem.js';

/** Escapes that JSON.stringify writes for NUL and for half of a surrogate pair, which PostgreSQL refuses in JSONB. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

export const readJson: ReadValue = (value) => {
  const text = JSON.stringify(value);
  if (text === undefined) return mistyped('a JSON value', value);
  if (text.includes('\\u') && unstorable.test(text)) {
    const inexact = findInexact(value);
    if (inexact) return new ValueProblem('type', inexactMessage(inexact.text), inexact.path);
    return new ValueProblem('type', 'must contain Unicode texts without the character NUL');
  }
  return value as StoredValue; // JSON.stringify has accepted it
};

const inexactMessage = (text: string): string =>
  `has the number ${text.length > 60 ? `${text.slice(0, 59)}…` : text}, which a double cannot hold; send it as a text`;

export const readArray: ReadValue = (value) => {
  if (!Array.isArray(value)) return mistyped('an array', value);
  const stored = readJson(value);
  return stored instanceof ValueProblem ? stored : (roundLiterals(stored) as StoredValue);
};

/** Checks the number and the type of the items of an array. */
export function arrayProblem(
  items: readonly unknown[],
  { minItems, maxItems, itemType }: FieldConstraints,
): ValueProblem | undefined {
  if (minItems !== undefined && items.length < minItems) {
    return new ValueProblem('minItems', `must have at least ${minItems} items, not ${items.length}`);
  }
  if (maxItems !== undefined && items.length > maxItems) {
    return new ValueProblem('maxItems', `must have at most ${maxItems} items, not ${items.length}`);
  }
  if (itemType === undefined) return undefined;
  const index = items.findIndex((item) => typeOf(item) !== itemType);
  if (index < 0) return undefined;
  return new ValueProblem(
    'itemType',
    `must contain items of type ${itemType}; item ${index} is ${shown(items[index])}`,
  );
}

const typeOf = (item: unknown): string => (item === null ? 'null' : Array.isArray(item) ? 'array' : typeof item);

export const readGeolocation: ReadValue = (value) => {
  const expected = 'an object such as {"latitude":52.52,"longitude":13.4}';
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return mistyped(expected, value);
  const { latitude, longitude, ...others } = value as Record<string, unknown>;
  if (!isWithin(latitude, 90) || !isWithin(longitude, 180) || Object.keys(others).length > 0) {
    return mistyped(`${expected}, with latitude within ±90 and longitude within ±180`, value);
  }
  return { latitude, longitude };
};

const isWithin = (degrees: unknown, limit: number): boolean =>
  typeof degrees === 'number' && Math.abs(degrees) <= limit;

export function picklistReader(values: readonly string[]): ReadValue {
  const known = new Set(values);
  return (value) => {
    if (typeof value !== 'string') return mistyped('a text', value);
    return known.has(value) ? value : notInPicklist(value, values);
  };
}

/** Duplicates are stored once. */
export function multiPicklistReader(values: readonly string[]): ReadValue {
  const known = new Set(values);
  return (value) => {
    if (!Array.isArray(value)) return mistyped('an array of texts', value);
    const unknown = value.find((item) => typeof item !== 'string' || !known.has(item));
    return unknown === undefined ? [...new Set(value as string[])] : notInPicklist(unknown, values);
  };
}

function notInPicklist(value: unknown, values: readonly string[]): ValueProblem {
  const listed = values.length > 10 ? `${values.slice(0, 10).join(', ')}, …` : values.join(', ');
  return new ValueProblem('picklist', `must be one of ${listed}, not ${shown(value)}`);
}
