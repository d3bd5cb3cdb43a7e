import { formatTimeSpan, parseTimeSpan } from './time-span.js';

/** What an option accepts. */
export interface OptionRule<T> {
  /** For error messages: "a whole number from 1 to 32". */
  readonly allowed: string;
  /** Returns undefined if the value is not allowed. */
  read(value: unknown): T | undefined;
  /** Returns what is used in place of a value that is not allowed, but that Azure accepts; undefined if there is none. */
  readonly replace?: (value: unknown) => Replacement<T> | undefined;
}

interface Replacement<T> {
  readonly value: T;
  /** For the warning. */
  readonly note: string;
}

/** Accepts numbers as text too: overrides of host.json come from environment variables. */
export function wholeNumber(least: number, most: number): OptionRule<number> {
  return {
    allowed: `a whole number from ${least} to ${most}`,
    read(value) {
      const number = typeof value === 'string' && /^\d+$/.test(value.trim()) ? Number(value) : value;
      return typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most
        ? number
        : undefined;
    },
  };
}

/** A time span, read as milliseconds. */
export function timeSpan(leastMs: number, mostMs: number): OptionRule<number> {
  return {
    allowed: `a time span from "${formatTimeSpan(leastMs)}" to "${formatTimeSpan(mostMs)}"`,
    read(value) {
      const ms = typeof value === 'string' ? parseTimeSpan(value) : undefined;
      return ms !== undefined && ms >= leastMs && ms <= mostMs ? ms : undefined;
    },
    // A bare number counts days in .NET. Files of older hosts have milliseconds there, which become years.
    replace(value) {
      const ms = typeof value === 'string' || typeof value === 'number' ? parseTimeSpan(String(value)) : undefined;
      if (ms === undefined || ms < leastMs) return undefined;
      const used = Math.min(ms, mostMs);
      return { value: used, note: `is a time span of ${ms / dayMs} d; "${formatTimeSpan(used)}" is used` };
    },
  };
}

const dayMs = 24 * 3_600_000;

/** True or false, also as text: overrides of host.json come from environment variables. */
export const trueOrFalse: OptionRule<boolean> = {
  allowed: 'true or false',
  read(value) {
    const text = typeof value === 'string' ? value.trim().toLowerCase() : value;
    return text === true || text === 'true' ? true : text === false || text === 'false' ? false : undefined;
  },
};

/** One of the given words, case-insensitive. */
export function oneWordOf<const Word extends string>(...words: readonly Word[]): OptionRule<Word> {
  return {
    allowed: words.map((word) => `"${word}"`).join(' or '),
    read: (value) => words.find((word) => typeof value === 'string' && word === value.trim().toLowerCase()),
  };
}

/** Keys of a binding that other components read, in lower case. */
export const commonBindingKeys: ReadonlySet<string> = new Set([
  'name',
  'type',
  'direction',
  'connection',
  'properties',
  'sdkbinding',
  'datatype',
  'cardinality',
]);

export type Rules = Readonly<Record<string, OptionRule<unknown>>>;
export type Values<R extends Rules> = { readonly [Key in keyof R]?: R[Key] extends OptionRule<infer T> ? T : never };

export interface ReadRules<R extends Rules> {
  /** Only options that were given and are valid. */
  readonly values: Values<R>;
  /** `key` is empty for a problem of the whole section. */
  readonly problems: readonly OptionNote[];
  /** Options whose value was replaced. */
  readonly warnings: readonly OptionNote[];
  readonly unknownKeys: readonly string[];
}

interface OptionNote {
  readonly key: string;
  readonly problem: string;
}

/** Reads all options of a section by their rules. Keys are case-insensitive. With `replaces`, what Azure accepts is replaced. */
export function readByRules<const R extends Rules>(
  rules: R,
  section: unknown,
  { replaces = false }: { readonly replaces?: boolean } = {},
): ReadRules<R> {
  if (section === undefined || section === null) return { values: {}, problems: [], warnings: [], unknownKeys: [] };
  if (typeof section !== 'object' || Array.isArray(section))
    return { values: {}, problems: [{ key: '', problem: 'must be an object' }], warnings: [], unknownKeys: [] };
  const known = new Map(Object.entries(rules).map(([key, rule]) => [key.toLowerCase(), { key, rule }]));
  const values = new Map<string, unknown>();
  const problems: OptionNote[] = [];
  const warnings: OptionNote[] = [];
  const unknownKeys: string[] = [];
  for (const [given, value] of Object.entries(section)) {
    const found = known.get(given.toLowerCase());
    if (!found) {
      unknownKeys.push(given);
      continue;
    }
    if (value === undefined || value === null) continue;
    const { key, rule } = found;
    const accepted = rule.read(value);
    const replaced = accepted === undefined && replaces ? rule.replace?.(value) : undefined;
    if (replaced) warnings.push({ key, problem: replaced.note });
    const used = accepted ?? replaced?.value;
    if (used === undefined) problems.push({ key, problem: `must be ${rule.allowed}, not ${JSON.stringify(value)}` });
    else values.set(key, used);
  }
  return { values: Object.fromEntries(values) as Values<R>, problems, warnings, unknownKeys }; // each value was read by the rule of its key
}
