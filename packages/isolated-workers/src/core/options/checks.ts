import { UnsupportedOptionError } from '../../types/errors.js';

/** Checks one value. Throws `UnsupportedOptionError` with its name, what it is and what it must be. */
export type Check = (value: unknown, name: string) => void;

/** One check for every option of an object. */
export type OptionTable<Options> = Readonly<Record<keyof Options & string, Check>>;

/** What to do instead of an option that another version or function has. */
export type Replacements = Readonly<Record<string, string>>;

/** Makes a check from a test and the words for what passes it. */
export function must(test: (value: unknown) => boolean, expected: string): Check {
  return (value, name) => {
    if (!test(value)) refuseOption(name, value, expected);
  };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const stringValue = must((value) => typeof value === 'string', 'a string');
export const booleanValue = must((value) => typeof value === 'boolean', 'true or false');
export const functionValue = must((value) => typeof value === 'function', 'a function');
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 1;
export const countValue = must(isCount, 'a whole number from 1');
export const upperLimitValue = must(
  (value) => isCount(value) || value === Number.POSITIVE_INFINITY,
  'a whole number from 1, or Infinity',
);
export const zeroOrMoreValue = must((value) => typeof value === 'number' && value >= 0, 'a number, 0 or more');
export const aboveZeroValue = must((value) => typeof value === 'number' && value > 0, 'a number above 0');
export const millisecondsValue = must(
  (value) => typeof value === 'number' && value >= 0,
  'a number of milliseconds, 0 or more',
);
export const anyValue: Check = () => undefined;

export function oneOfValues(...allowed: readonly string[]): Check {
  const expected = allowed.map((value) => `'${value}'`).join(' or ');
  return must((value) => allowed.includes(value as string), expected);
}

export function listOfValues(check: Check, expected: string): Check {
  return (value, name) => {
    if (!Array.isArray(value)) return refuseOption(name, value, expected);
    value.forEach((item, index) => check(item, `${name}[${index}]`));
  };
}

/** Accepts any keys. Values that are undefined count as absent. */
export function recordOfValues(check: Check, expected: string): Check {
  return (value, name) => {
    if (!isObject(value)) return refuseOption(name, value, expected);
    for (const [key, item] of Object.entries(value)) if (item !== undefined) check(item, `${name}.${key}`);
  };
}

/** Accepts an object with at least these methods and texts, of any class. */
export function objectWith(members: Readonly<Record<string, Check>>, expected: string): Check {
  return (value, name) => {
    if (!isObject(value)) return refuseOption(name, value, expected);
    for (const [key, check] of Object.entries(members)) check(value[key], `${name}.${key}`);
  };
}

/**
 * Checks the options of a function, whose name the check gets: refuses what the table does not have. Options that are undefined
 * count as absent.
 */
export function optionsOf<Options>(table: OptionTable<Options>, replacements: Replacements = {}): Check {
  const checks = new Map<string, Check>(Object.entries(table));
  return (options, name) => {
    if (!isObject(options)) return refuseOption(`The argument of ${name}`, options, 'an object with options');
    // Not Object.entries: this runs for every request with options.
    for (const key in options) {
      const check = checks.get(key);
      if (!check) throw new UnsupportedOptionError(unknownOption(name, key, [...checks.keys()], replacements));
      if (options[key] !== undefined) check(options[key], key);
    }
  };
}

/** Checks an option that is an object itself. `describe` may say more about a key that the table does not have. */
export function partsOf<Options>(
  table: OptionTable<Options>,
  replacements: Replacements = {},
  describe?: (key: string, value: unknown) => string | undefined,
): Check {
  return (value, name) => {
    if (!isObject(value)) return refuseOption(name, value, `an object with ${Object.keys(table).join(', ')}`);
    for (const [key, part] of Object.entries(value)) {
      const check = Object.hasOwn(table, key) ? table[key as keyof typeof table] : undefined;
      if (!check)
        throw new UnsupportedOptionError(
          describe?.(key, part) ?? unknownOption(name, key, Object.keys(table), replacements),
        );
      if (part !== undefined) check(part, `${name}.${key}`);
    }
  };
}

function unknownOption(name: string, key: string, names: readonly string[], replacements: Replacements): string {
  if (Object.hasOwn(replacements, key)) return `${name} has no option '${key}'. ${replacements[key]}`;
  const similar = mostSimilar(key, names);
  const next = similar ? `Did you mean '${similar}'?` : `Its options are: ${names.join(', ')}.`;
  return `${name} has no option '${key}'. ${next}`;
}

/** Throws the error for a value that an option cannot have. */
export function refuseOption(name: string, value: unknown, expected: string): never {
  throw new UnsupportedOptionError(`${name} is ${shown(value)}. It must be ${expected}.`);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value.length > 60 ? `${value.slice(0, 60)}…` : value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

/** Returns the name with the fewest edits, if these are few. */
function mostSimilar(key: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => ({ name, edits: editDistance(key.toLowerCase(), name.toLowerCase()) }))
    .toSorted((one, other) => one.edits - other.edits);
  return best && best.edits <= Math.max(1, Math.floor(key.length / 3)) ? best.name : undefined;
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let at = 1; at <= from.length; at += 1) {
    const next = [at];
    for (let other = 1; other <= to.length; other += 1) {
      const same = from[at - 1] === to[other - 1] ? 0 : 1;
      next.push(Math.min((row[other] ?? 0) + 1, (next[other - 1] ?? 0) + 1, (row[other - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
