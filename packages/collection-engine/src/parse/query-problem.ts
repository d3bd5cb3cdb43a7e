import type { CodedError } from '@drover/contracts';
import { nearestName } from '@drover/service-kit';
import { queryInvalid } from '../request/request-errors.js';

export type QueryProblemCode =
  | 'UNKNOWN_PARAMETER'
  | 'UNKNOWN_FIELD'
  | 'UNKNOWN_OPERATOR'
  | 'UNKNOWN_RELATION'
  | 'INVALID_VALUE'
  | 'INVALID_SYNTAX'
  | 'INVALID_CURSOR';

/** Makes the error about one query parameter. */
export function queryProblem(parameter: string, code: QueryProblemCode, detail: string): CodedError {
  return queryInvalid({ problems: [{ code, detail, source: { parameter } }] });
}

/** Returns " Did you mean …?" for a misspelled name, or a text that lists some names. */
export function suggestion(given: string, names: readonly string[]): string {
  const similar = nearestName(given, names);
  if (similar !== undefined) return ` Did you mean "${similar}"?`;
  if (names.length === 0) return '';
  const some = names.slice(0, 12).join(', ');
  return ` Use one of: ${some}${names.length > 12 ? ' …' : ''}.`;
}

/** Cuts a text of a request for an error message. */
export const excerpt = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
