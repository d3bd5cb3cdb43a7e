import { mistyped, type ReadValue, type ValueProblem } from './value-problem.js';

const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/;
const datetimePattern =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:([Zz])|([+-])(\d{2}):?(\d{2}))?$/;
const minuteMs = 60_000;
const earliestMs = Date.parse('0001-01-01T00:00:00.000Z');
const latestMs = Date.parse('9999-12-31T23:59:59.999Z');

export const readDate: ReadValue = (value) =>
  typeof value === 'string' && isDate(value) ? value : mistyped('a date such as "2026-01-31"', value);

/**
 * Reads a time in ISO 8601 and returns it in UTC with milliseconds: texts of one width, which sort like the times. A time without an
 * offset is UTC.
 */
export const readDatetime: ReadValue = (value) => {
  if (typeof value === 'string' && utcPattern.test(value)) return readUtc(value);
  const ms = typeof value === 'string' ? millisecondsOf(value) : undefined;
  return ms === undefined ? mistyped('a time such as "2026-01-31T12:00:00Z"', value) : new Date(ms).toISOString();
};

/** The form that most clients send, with or without milliseconds: it is checked without a Date. */
const utcPattern = /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/;

function readUtc(text: string): string | ValueProblem {
  if (!isDate(text.slice(0, 10))) return mistyped('a time such as "2026-01-31T12:00:00Z"', text);
  return text.length === 24 ? text : `${text.slice(0, 19)}.000Z`;
}

function isDate(text: string): boolean {
  const [, year = '', month = '', day = ''] = datePattern.exec(text) ?? [];
  return Number(year) > 0 && Number(day) > 0 && Number(day) <= daysOf(Number(year), Number(month));
}

function daysOf(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 ? (isLeap ? 29 : 28) : (monthDays[month - 1] ?? 0);
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function millisecondsOf(text: string): number | undefined {
  const [, date = '', hour = '', minute = '', second = '00', fraction = '', , sign, hours = '00', minutes = '00'] =
    datetimePattern.exec(text) ?? [];
  if (!isDate(date) || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(hours) > 15 || Number(minutes) > 59) return undefined;
  const local = Date.parse(`${date}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`);
  const offset = (Number(hours) * 60 + Number(minutes)) * minuteMs;
  const ms = local - (sign === '-' ? -offset : offset);
  return ms >= earliestMs && ms <= latestMs ? ms : undefined;
}
