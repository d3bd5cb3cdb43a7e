import { BoundedMap } from '@drover/service-kit';
import { compileFieldPattern } from '../pattern/compile-field-pattern.js';
import { postgresPattern } from '../pattern/postgres-pattern.js';
import { constant, join, sql, type Sql } from '../sql/sql.js';
import {
  decimalOf,
  textOfDecimal,
  divide,
  limitDecimal,
  multiply,
  roundDecimal,
  toDecimal,
  wholeOf,
  type Decimal,
} from './decimal.js';

/** A value while a formula is evaluated: dates are days, times are milliseconds, both since 1970 in UTC. */
export type FormulaValue = Decimal | string | boolean | number | null;

/** One operation in both languages. `evaluate` and `sql` must give the same results; a property test compares them. */
interface Operation {
  readonly sql: (operands: readonly Sql[], setting: string) => Sql;
  readonly evaluate: (operands: readonly FormulaValue[], setting: string, nowMs: number) => FormulaValue;
}

export const dayMs = 86_400_000;
const firstDay = Date.parse('0001-01-01T00:00:00Z') / dayMs;
const lastDay = Date.parse('9999-12-31T00:00:00Z') / dayMs;
/** So many days lead out of the range of dates from each of them. */
const maxDays = 4_000_000;
const blanks = sql`E' \\t\\n\\r'`;

const first = (operands: readonly Sql[]): Sql => operands[0] ?? sql`null`;
const second = (operands: readonly Sql[]): Sql => operands[1] ?? sql`null`;
const isTrue = (operand: Sql): Sql => sql`coalesce(${operand}, false)`;

/** No value for numbers that reach 10^30. GREATEST and LEAST ignore null, which therefore becomes a bound, and null again. */
export const limited = (number: Sql): Sql => sql`nullif(nullif(greatest(least(${number}, 1e30), -1e30), 1e30), -1e30)`;

const trimmed = (text: string): string => text.replaceAll(/^[ \t\n\r]+|[ \t\n\r]+$/g, '');
const isBlank = (value: FormulaValue | undefined): boolean =>
  value === null || value === undefined || (typeof value === 'string' && trimmed(value) === '');
const textOf = (value: FormulaValue | undefined): string => (typeof value === 'string' ? value : '');

/** An operation of numbers that is null if an operand is. */
const arithmetic = (
  toSql: (left: Sql, right: Sql, setting: string) => Sql,
  evaluate: (left: Decimal, right: Decimal, setting: string) => FormulaValue,
): Operation => ({
  sql: (operands, setting) => toSql(first(operands), second(operands), setting),
  evaluate: ([left, right], setting) =>
    typeof left === 'bigint' && (typeof right === 'bigint' || right === undefined)
      ? evaluate(left, right ?? 0n, setting)
      : null,
});

/** A comparison is false if a side has no value. */
const comparison = (toSql: (left: Sql, right: Sql) => Sql, holds: (order: number) => boolean): Operation => ({
  sql: (operands) => isTrue(toSql(first(operands), second(operands))),
  evaluate: ([left, right]) =>
    left !== null && left !== undefined && right !== null && right !== undefined && holds(orderOf(left, right)),
});

/** Texts are compared by code point. */
function orderOf(left: NonNullable<FormulaValue>, right: NonNullable<FormulaValue>): number {
  if (typeof left === 'string') return Buffer.compare(Buffer.from(left), Buffer.from(textOf(right)));
  return left < right ? -1 : left > right ? 1 : 0;
}

const extreme = (name: Sql, sign: 1 | -1): Operation => ({
  sql: (operands) => sql`${name}(${join(operands, sql`, `)})`,
  evaluate: (operands) =>
    operands.reduce((best, value) => {
      if (value === null || best === null) return value ?? best;
      return orderOf(value, best) * sign > 0 ? value : best;
    }, null),
});

const logic = (operator: Sql, evaluate: (operands: readonly FormulaValue[]) => boolean): Operation => ({
  sql: (operands) => sql`(${join(operands.map(isTrue), operator)})`,
  evaluate,
});

const caseOf = (name: Sql, map: (character: string) => string): Operation => ({
  sql: (operands) => sql`${name}(${first(operands)})`,
  // PostgreSQL maps one character to one.
  evaluate: ([text]) =>
    typeof text === 'string'
      ? Array.from(text, (character) => (Array.from(map(character)).length === 1 ? map(character) : character)).join('')
      : null,
});

const isoTime = constant('YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
const dayText = (days: number): string => new Date(days * dayMs).toISOString().slice(0, 10);

export const operations = {
  add: arithmetic(
    (left, right) => limited(sql`(${left} + ${right})`),
    (left, right) => limitDecimal(left + right),
  ),
  subtract: arithmetic(
    (left, right) => limited(sql`(${left} - ${right})`),
    (left, right) => limitDecimal(left - right),
  ),
  multiply: arithmetic((left, right) => limited(sql`round(${left} * ${right}, 12)`), multiply),
  // DIV cuts, so one digit more decides the rounding; the operator `/` would round twice.
  divide: arithmetic(
    (left, right) => limited(sql`round(div(${left} * 1e13, nullif(${right}, 0)) * 0.0000000000001, 12)`),
    divide,
  ),
  negate: arithmetic(
    (operand) => sql`(- ${operand})`,
    (operand) => -operand,
  ),
  absolute: arithmetic(
    (operand) => sql`abs(${operand})`,
    (operand) => (operand < 0n ? -operand : operand),
  ),
  round: arithmetic(
    (operand, _, digits) => limited(sql`round(${operand}, ${constant(digits)}::integer)`),
    (operand, _, digits) => roundDecimal(operand, Number(digits)),
  ),
  greatest: extreme(sql`greatest`, 1),
  least: extreme(sql`least`, -1),

  concatenate: {
    sql: (operands) => sql`(coalesce(${first(operands)}, '') || coalesce(${second(operands)}, ''))`,
    evaluate: ([left, right]) => textOf(left) + textOf(right),
  },
  length: {
    sql: (operands) => sql`coalesce(char_length(${first(operands)}), 0)::numeric`,
    evaluate: ([text]) => decimalOf(Array.from(textOf(text)).length),
  },
  contains: {
    sql: (operands) => sql`(strpos(coalesce(${first(operands)}, ''), coalesce(${second(operands)}, '')) > 0)`,
    evaluate: ([text, part]) => textOf(text).includes(textOf(part)),
  },
  upper: caseOf(sql`upper`, (character) => character.toUpperCase()),
  lower: caseOf(sql`lower`, (character) => character.toLowerCase()),
  trim: {
    sql: (operands) => sql`btrim(${first(operands)}, ${blanks})`,
    evaluate: ([text]) => (typeof text === 'string' ? trimmed(text) : null),
  },
  matches: {
    sql: (operands, pattern) => sql`(coalesce(${first(operands)}, '') ~ ${constant(postgresText(pattern))})`,
    evaluate: ([text], pattern) => {
      const compiled = patternOf(pattern);
      return 'matches' in compiled && compiled.matches(textOf(text));
    },
  },
  numberToText: {
    sql: (operands) => sql`trim_scale(${first(operands)})::text`,
    evaluate: ([number]) => (typeof number === 'bigint' ? textOfDecimal(number) : null),
  },
  booleanToText: {
    sql: (operands) => sql`(${first(operands)})::text`,
    evaluate: ([value]) => (typeof value === 'boolean' ? String(value) : null),
  },
  dateToText: {
    sql: (operands) => sql`to_char(${first(operands)}, 'YYYY-MM-DD')`,
    evaluate: ([days]) => (typeof days === 'number' ? dayText(days) : null),
  },
  datetimeToText: {
    sql: (operands) => sql`to_char(${first(operands)} at time zone 'UTC', ${isoTime})`,
    evaluate: ([ms]) => (typeof ms === 'number' ? new Date(ms).toISOString() : null),
  },
  textToNumber: {
    sql: (operands) => {
      const digits = constant('^[+-]?[0-9]{1,30}(?:[.][0-9]{1,30})?$');
      return limited(sql`round(substring(btrim(${first(operands)}, ${blanks}) from ${digits})::numeric, 12)`);
    },
    evaluate: ([text]) =>
      /^[+-]?[0-9]{1,30}(?:[.][0-9]{1,30})?$/.test(trimmed(textOf(text))) ? toDecimal(trimmed(textOf(text))) : null,
  },

  equal: {
    sql: (operands) => sql`(${first(operands)} is not distinct from ${second(operands)})`,
    evaluate: ([left, right]) => left === right,
  },
  notEqual: {
    sql: (operands) => sql`(${first(operands)} is distinct from ${second(operands)})`,
    evaluate: ([left, right]) => left !== right,
  },
  less: comparison(
    (left, right) => sql`${left} < ${right}`,
    (order) => order < 0,
  ),
  lessOrEqual: comparison(
    (left, right) => sql`${left} <= ${right}`,
    (order) => order <= 0,
  ),
  greater: comparison(
    (left, right) => sql`${left} > ${right}`,
    (order) => order > 0,
  ),
  greaterOrEqual: comparison(
    (left, right) => sql`${left} >= ${right}`,
    (order) => order >= 0,
  ),
  and: logic(sql` and `, (operands) => operands.every((value) => value === true)),
  or: logic(sql` or `, (operands) => operands.includes(true)),
  not: {
    sql: (operands) => sql`(not ${isTrue(first(operands))})`,
    evaluate: ([value]) => value !== true,
  },
  choose: {
    sql: ([condition, yes, no]) =>
      sql`(case when ${condition ?? sql`null`} then ${yes ?? sql`null`} else ${no ?? sql`null`} end)`,
    evaluate: ([condition, yes, no]) => (condition === true ? yes : no) ?? null,
  },
  isBlankText: {
    sql: (operands) => sql`(coalesce(btrim(${first(operands)}, ${blanks}), '') = '')`,
    evaluate: ([text]) => isBlank(text),
  },
  isMissing: {
    sql: (operands) => sql`(${first(operands)} is null)`,
    evaluate: ([value]) => value === null,
  },
  // The regular expression returns the whole text or null: a CASE would repeat the operand, and nested ones would grow without limit.
  textOrElse: {
    sql: (operands) =>
      sql`coalesce(substring(${first(operands)} from ${constant('^.*[^ \t\n\r].*$')}), ${second(operands)})`,
    evaluate: ([text, other]) => (isBlank(text) ? (other ?? null) : (text ?? null)),
  },
  valueOrElse: {
    sql: (operands) => sql`coalesce(${first(operands)}, ${second(operands)})`,
    evaluate: ([value, other]) => value ?? other ?? null,
  },

  today: {
    sql: () => sql`(now() at time zone 'UTC')::date`,
    evaluate: (_, __, nowMs) => Math.floor(nowMs / dayMs),
  },
  now: {
    sql: () => sql`date_trunc('milliseconds', now())`,
    evaluate: (_, __, nowMs) => nowMs,
  },
  dateToDatetime: {
    sql: (operands) => sql`(${first(operands)}::timestamp at time zone 'UTC')`,
    evaluate: ([days]) => (typeof days === 'number' ? days * dayMs : null),
  },
  datetimeToDate: {
    sql: (operands) => sql`(${first(operands)} at time zone 'UTC')::date`,
    evaluate: ([ms]) => (typeof ms === 'number' ? Math.floor(ms / dayMs) : null),
  },
  daysBetween: {
    sql: (operands) => sql`(${first(operands)} - ${second(operands)})::numeric`,
    evaluate: ([later, earlier]) =>
      typeof later === 'number' && typeof earlier === 'number' ? decimalOf(later - earlier) : null,
  },
  addDays: {
    sql: (operands) => {
      const days = sql`nullif(nullif(greatest(least(trunc(${second(operands)}), 4000000), -4000000), 4000000), -4000000)`;
      // Counted from the first day of the range: a date before 4714 BC would be an error.
      const start = sql`date '0001-01-01'`;
      const moved = sql`(${first(operands)} - ${start}) + ${days}::integer`;
      return sql`(${start} + nullif(nullif(greatest(least(${moved}, 3652059), -1), 3652059), -1))`;
    },
    evaluate: ([day, days]) => {
      if (typeof day !== 'number' || typeof days !== 'bigint' || Math.abs(wholeOf(days)) >= maxDays) return null;
      const moved = day + wholeOf(days);
      return moved >= firstDay && moved <= lastDay ? moved : null;
    },
  },
} satisfies Readonly<Record<string, Operation>>;

export type OperationName = keyof typeof operations;

const patterns = new BoundedMap<string, ReturnType<typeof compileFieldPattern>>({
  maxWeight: 1_000,
  whenFull: 'evict-unused',
});

/** Rules are evaluated for every new record; their patterns are compiled once. */
function patternOf(source: string): ReturnType<typeof compileFieldPattern> {
  const known = patterns.get(source);
  if (known) return known;
  const compiled = compileFieldPattern(source);
  patterns.set(source, compiled);
  return compiled;
}

/** The pattern was checked when the formula was compiled. */
function postgresText(pattern: string): string {
  const compiled = patternOf(pattern);
  const text = 'node' in compiled ? postgresPattern(compiled.node) : compiled;
  if (typeof text !== 'string') throw new TypeError(`The regular expression "${pattern}" is invalid: ${text.problem}`);
  return text;
}
