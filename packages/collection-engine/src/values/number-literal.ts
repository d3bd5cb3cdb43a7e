import { randomUUID } from 'node:crypto';

/**
 * A JSON number as it was written, which a double may not hold: it has more than 15 digits, or an exponent of three. Fields of the
 * types LONG, CURRENCY and PERCENT read its digits, DOUBLE fields round it as any double, and JSON fields refuse one that a double
 * would change.
 */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Whether JavaScript writes the same number again. */
  get isExact(): boolean {
    const value = Number(this.text);
    if (this.text.length > mostCharacters || !Number.isFinite(value)) return false;
    return canonical(this.text) === canonical(String(value));
  }

  /** A number that a double would change becomes a text with NUL, which no value may have: it cannot be written by mistake. */
  toJSON(): number | string {
    return this.isExact ? Number(this.text) : `\0${this.text}`;
  }
}

/** More than any double needs, also without an exponent. */
const mostCharacters = 400;

const mayHaveLong = /[0-9][0-9.]{15}|[eE][+-]?[0-9]{3}/;
const textsAndLongNumbers =
  /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:[0-9][0-9.]{15,}(?:[eE][+-]?[0-9]+)?|[0-9][0-9.]*[eE][+-]?[0-9]{3,})/g;

/** Parses JSON of a client; numbers that a double may not hold become `NumberLiteral`. Throws SyntaxError. */
export function parseClientJson(text: string): unknown {
  const parsed: unknown = JSON.parse(text);
  if (!mayHaveLong.test(text)) return parsed;
  const mark = `number ${randomUUID()} `; // no client can have written it
  let count = 0;
  const marked = text.replaceAll(textsAndLongNumbers, (token) => {
    if (token.startsWith('"')) return token;
    count += 1;
    return `"${mark}${token}"`;
  });
  if (count === 0) return parsed;
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? new NumberLiteral(value.slice(mark.length)) : value,
  ) as unknown;
}

/** Returns the value with doubles in place of its literals. */
export function roundLiterals(value: unknown): unknown {
  if (value instanceof NumberLiteral) return Number(value.text);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.some(holdsLiteral) ? value.map(roundLiterals) : value;
  const entries = Object.entries(value);
  return entries.some(([, each]) => holdsLiteral(each))
    ? Object.fromEntries(entries.map(([name, each]) => [name, roundLiterals(each)]))
    : value;
}

const holdsLiteral = (value: unknown): boolean => findLiteral(value, () => true) !== undefined;

/** Finds a number within a value that a double would change: its text, and the keys that lead to it. */
export const findInexact = (value: unknown): { readonly text: string; readonly path: readonly string[] } | undefined =>
  findLiteral(value, (literal) => !literal.isExact);

function findLiteral(
  value: unknown,
  isWanted: (literal: NumberLiteral) => boolean,
  path: readonly string[] = [],
): { readonly text: string; readonly path: readonly string[] } | undefined {
  if (value instanceof NumberLiteral) return isWanted(value) ? { text: value.text, path } : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, each] of Object.entries(value)) {
    const found = findLiteral(each, isWanted, [...path, key]);
    if (found) return found;
  }
  return undefined;
}

/** Returns sign, significant digits and exponent of a decimal number, the same for all ways to write it. */
function canonical(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/.exec(text) ?? [];
  const all = `${whole}${fraction}`.replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  if (digits === '') return '0';
  return `${sign}${digits}e${Number(exponent) - fraction.length + (all.length - digits.length)}`;
}
