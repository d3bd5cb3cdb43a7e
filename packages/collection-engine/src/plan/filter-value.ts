import type { FilterValue } from '../parse/parse-filter.js';
import { excerpt, queryProblem } from '../parse/query-problem.js';
import { readDate, readDatetime } from '../values/time-values.js';
import type { Operand } from './operand.js';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const decimalPattern = /^[+-]?(?:\d{1,100}(?:\.\d{0,100})?|\.\d{1,100})(?:[eE][+-]?\d{1,3})?$/;
const longest = 2n ** 63n;

export const isUuid = (text: string): boolean => uuidPattern.test(text);

/**
 * Converts a value of a filter, a text of the query string or a JSON value, to what the operand is compared with. Throws
 * INVALID_QUERY if the field cannot have such a value.
 */
export function toOperandValue(operand: Operand, value: FilterValue, parameter: string): unknown {
  if (value === null) throw invalid(operand, value, parameter, 'a single value');
  const text = String(value);
  switch (operand.kind) {
    case 'integer':
      if (!/^[+-]?\d{1,19}$/.test(text) || BigInt(text) >= longest || BigInt(text) < -longest)
        throw invalid(operand, text, parameter, 'a whole number');
      return text;
    case 'number':
      if (!decimalPattern.test(text) || !Number.isFinite(Number(text)))
        throw invalid(operand, text, parameter, 'a number');
      return text;
    case 'boolean':
      if (!/^(?:true|false|1|0)$/i.test(text)) throw invalid(operand, text, parameter, 'true or false');
      return /^(?:true|1)$/i.test(text);
    case 'date': {
      const date = readDate(text);
      if (typeof date !== 'string') throw invalid(operand, text, parameter, 'a date such as 2026-01-31');
      return date;
    }
    case 'datetime':
      return toTime(operand, text, parameter);
    case 'uuid':
      if (!isUuid(text)) throw invalid(operand, text, parameter, 'an id (UUID)');
      return text.toLowerCase();
    case 'text':
    case 'json':
    case 'list':
    case 'textList':
    case 'jsonPath':
    case 'sealed':
      return text;
  }
}

/** A date alone is its midnight in UTC. The plus sign of an offset that was not encoded arrives as a space. */
function toTime(operand: Operand, given: string, parameter: string): string {
  const text = given.replace(/ (?=\d{2}:?\d{2}$)/, '+');
  const full = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text;
  const time = readDatetime(full);
  if (typeof time !== 'string') throw invalid(operand, given, parameter, 'a time such as 2026-01-31T12:00:00Z');
  // Times of the system have microseconds; texts in a JSONB document have milliseconds.
  const micro = /\.(\d{3})(\d{1,3})/.exec(full)?.[2];
  return operand.type === 'timestamptz' && micro !== undefined ? time.replace('Z', `${micro}Z`) : time;
}

/** Reads the value of `isnull`: `true` without a value. */
export function toBoolean(operand: Operand, value: FilterValue, parameter: string): boolean {
  const text = String(value);
  if (text === '' || /^(?:true|1)$/i.test(text)) return true;
  if (/^(?:false|0)$/i.test(text)) return false;
  throw invalid(operand, text, parameter, 'true or false');
}

export function invalid(operand: Operand, value: unknown, parameter: string, expected: string): Error {
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  return queryProblem(
    excerpt(parameter),
    'INVALID_VALUE',
    `"${excerpt(shown)}" is not a value of "${excerpt(operand.name)}". Send ${expected}.`,
  );
}
