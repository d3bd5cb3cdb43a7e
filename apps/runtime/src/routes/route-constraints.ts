import { compilePattern } from './safe-pattern.js';

/** Whether the value of a route parameter satisfies its constraint. */
export type Constraint = (value: string) => boolean;

type CompiledConstraint = { readonly accepts: Constraint } | { readonly problem: string };

const intMax = 2n ** 31n - 1n;
const longMax = 2n ** 63n - 1n;
const guidPattern =
  /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\{[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}|\([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\))$/i;
const decimalPattern = /^[+-]?(?=[\d.])\d*(?:,\d{3})*(?:\.\d*)?$/;
const doublePattern = /^[+-]?(?=[\d.])\d*(?:,\d{3})*(?:\.\d*)?(?:e[+-]?\d{1,4})?$/i;

const simple: Readonly<Record<string, Constraint>> = {
  int: (value) => isBetween(value, -intMax - 1n, intMax),
  long: (value) => isBetween(value, -longMax - 1n, longMax),
  bool: (value) => /^(?:true|false)$/i.test(value),
  guid: (value) => guidPattern.test(value),
  alpha: (value) => /^[a-z]*$/i.test(value),
  datetime: isDate,
  decimal: (value) => decimalPattern.test(value) && /\d/.test(value),
  double: isNumber,
  float: isNumber,
  required: (value) => value !== '',
  file: (value) => /\.[^./]+$/.test(value),
  nonfile: (value) => !/\.[^./]+$/.test(value),
};

/** Compiles a constraint of an ASP.NET route template, such as `int` or `range(1,9)`. */
export function compileConstraint(name: string, argument: string | undefined): CompiledConstraint {
  const folded = name.toLowerCase();
  const plain = Object.hasOwn(simple, folded) ? simple[folded] : undefined;
  if (plain)
    return argument === undefined ? { accepts: plain } : { problem: `the constraint ${name} takes no argument` };
  if (folded === 'regex') return compileRegex(argument);
  const bounds = argument?.split(',').map((bound) => bound.trim());
  if (!bounds?.every((bound) => /^-?\d{1,19}$/.test(bound)))
    return { problem: `the constraint ${name}${argument === undefined ? '' : `(${argument})`} is unknown` };
  return withBounds(folded, bounds.map(BigInt)) ?? { problem: `the constraint ${name}(${argument}) is unknown` };
}

function withBounds(name: string, [first = 0n, second, ...more]: readonly bigint[]): CompiledConstraint | undefined {
  if (more.length > 0) return undefined;
  const hasOne = second === undefined;
  if (name === 'min' && hasOne) return { accepts: (value) => isBetween(value, first, longMax) };
  if (name === 'max' && hasOne) return { accepts: (value) => isBetween(value, -longMax - 1n, first) };
  if (name === 'minlength' && hasOne) return { accepts: (value) => value.length >= first };
  if (name === 'maxlength' && hasOne) return { accepts: (value) => value.length <= first };
  if (name === 'length') return { accepts: (value) => value.length >= first && value.length <= (second ?? first) };
  if (name === 'range' && second !== undefined) return { accepts: (value) => isBetween(value, first, second) };
  return undefined;
}

function compileRegex(source: string | undefined): CompiledConstraint {
  if (source === undefined || source === '') return { problem: 'the constraint regex needs a pattern' };
  const compiled = compilePattern(source);
  return 'problem' in compiled
    ? { problem: `the pattern ${source} ${compiled.problem}` }
    : { accepts: compiled.matches };
}

function isBetween(value: string, least: bigint, most: bigint): boolean {
  // Longer numbers exceed every bound, so they are not converted.
  if (!/^\s*[+-]?\d{1,40}\s*$/.test(value)) return false;
  const number = BigInt(value.trim().replace(/^\+/, ''));
  return number >= least && number <= most;
}

function isNumber(value: string): boolean {
  return doublePattern.test(value) && /\d/.test(value);
}

const datePattern =
  /^(?:(\d{4})-(\d{1,2})-(\d{1,2})|(\d{1,2})[-.](\d{1,2})[-.](\d{4}))(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d{1,7})?)?\s?(AM|PM)?)?(?:Z|[+-]\d{2}:\d{2})?$/i;

/** Accepts year first, or month first as in the invariant culture. A segment has no slashes. The day must exist. */
function isDate(value: string): boolean {
  if (value.length > 64) return false;
  const [matched, year, month, day, month2, day2, year2, hour = '0', minute = '0', second = '0', half] =
    datePattern.exec(value) ?? [];
  if (matched === undefined) return false;
  const [y, m, d] = [Number(year ?? year2), Number(month ?? month2), Number(day ?? day2)];
  const date = new Date(Date.UTC(y, m - 1, d));
  const exists = y >= 1 && date.getUTCMonth() === m - 1 && date.getUTCDate() === d;
  return exists && Number(hour) <= (half === undefined ? 23 : 12) && Number(minute) <= 59 && Number(second) <= 59;
}
