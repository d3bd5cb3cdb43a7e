import { mistyped, type ReadValue } from './value-problem.js';

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
  const ms = typeof value === 'string' ? millisecondsOf(value) : undefined;
  return ms === undefined ? mistyped('a time such as "2026-01-31T12:00:00Z"', value) : new Date(ms).toISOString();
};

function isDate(text: string): boolean {
  const [, year = '', month = '', day = ''] = datePattern.exec(text) ?? [];
  if (year === '' || year === '0000') return false;
  const date = new Date(Date.UTC(2_000, Number(month) - 1, 1));
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

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
