import { formatTimeSpan, parseTimeSpan } from './time-span.js';

/** What a key may hold: reads a raw value, or says what would have been allowed. */
export interface OptionRule<T> {
  readonly allowed: string;
  /** Undefined when the value is not allowed. */
  read(value: unknown): T | undefined;
}

/** Whole numbers, also as text: host.json values may come from the environment. */
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

/** A duration in milliseconds, written as a time span. */
export function timeSpan(leastMs: number, mostMs: number): OptionRule<number> {
  return {
    allowed: `a time span from "${formatTimeSpan(leastMs)}" to "${formatTimeSpan(mostMs)}"`,
    read(value) {
      const ms = typeof value === 'string' ? parseTimeSpan(value) : undefined;
      return ms !== undefined && ms >= leastMs && ms <= mostMs ? ms : undefined;
    },
  };
}

/** One of some words, in whatever case. */
export function oneWordOf<const Word extends string>(...words: readonly Word[]): OptionRule<Word> {
  return {
    allowed: words.map((word) => `"${word}"`).join(' or '),
    read: (value) => words.find((word) => typeof value === 'string' && word === value.trim().toLowerCase()),
  };
}

/** A queue's name by the rules of the service; case is lost, as in the official host. */
export const queueName: OptionRule<string> = {
  allowed: '3 to 63 lower-case letters, digits and single hyphens, beginning and ending with a letter or digit',
  read(value) {
    const name = typeof value === 'string' ? value.trim().toLowerCase() : '';
    return name.length >= 3 && name.length <= 63 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ? name : undefined;
  },
};

export type Rules = Readonly<Record<string, OptionRule<unknown>>>;
export type Values<R extends Rules> = { readonly [Key in keyof R]?: R[Key] extends OptionRule<infer T> ? T : never };

export interface OptionSource {
  /** How a message calls it: `host.json extensions.queues`. */
  readonly where: string;
  readonly values: unknown;
  /** Keys that belong to somebody else. */
  readonly ignored?: readonly string[];
  /** Takes keys that nobody knows; without it they are problems. */
  readonly unknown?: string[];
}

/** Reads what `rules` know; everything that is wrong goes to `problems`, with what would be right. */
export function readOptions<const R extends Rules>(rules: R, source: OptionSource, problems: string[]): Values<R> {
  const { where, values, ignored = [], unknown } = source;
  if (values === undefined || values === null) return {};
  if (typeof values !== 'object' || Array.isArray(values)) {
    problems.push(`${where} must be an object`);
    return {};
  }
  const known = new Map(Object.entries(rules).map(([key, rule]) => [key.toLowerCase(), { key, rule }]));
  const others = new Set(ignored.map((key) => key.toLowerCase()));
  const read = Object.entries(values).flatMap(([given, value]): (readonly [string, unknown])[] => {
    const found = known.get(given.toLowerCase());
    if (!found) {
      if (others.has(given.toLowerCase())) return [];
      if (unknown) unknown.push(given);
      else problems.push(`${where} has an unknown key ${given}; known are ${Object.keys(rules).join(', ')}`);
      return [];
    }
    if (value === undefined || value === null) return [];
    const accepted = found.rule.read(value);
    if (accepted === undefined)
      problems.push(`${where}: ${found.key} must be ${found.rule.allowed}, not ${JSON.stringify(value)}`);
    return accepted === undefined ? [] : [[found.key, accepted]];
  });
  return Object.fromEntries(read) as Values<R>; // each value has just been read by the rule of its key
}
