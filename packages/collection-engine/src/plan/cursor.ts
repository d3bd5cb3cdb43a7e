import type { PageRequest } from '../parse/parse-query.js';
import { queryProblem } from '../parse/query-problem.js';

/** The values of the keys of an order in one record, as PostgreSQL prints them. */
export type CursorValues = readonly (string | null)[];

/** Makes the opaque text of a cursor from the values that the statement returned. */
export function writeCursor(signature: string, values: string): string {
  return Buffer.from(JSON.stringify([signature, ...(JSON.parse(values) as unknown[])])).toString('base64url');
}

/** Throws INVALID_QUERY if the cursor is damaged or belongs to another order. */
export function readCursor(
  cursor: NonNullable<PageRequest['cursor']>,
  signature: string,
  length: number,
): CursorValues {
  const [from, ...values] = decode(cursor.text);
  if (typeof from !== 'string' || values.length < length || !values.every(isCursorValue))
    throw queryProblem(
      cursor.parameter,
      'INVALID_CURSOR',
      'The cursor is damaged. Take it as it is from links.next or meta.nextCursor.',
    );
  if (from !== signature || values.length !== length)
    throw queryProblem(
      cursor.parameter,
      'INVALID_CURSOR',
      `The cursor belongs to a list in another order (${from.slice(0, 80)}). Send the same sort, or start without a cursor.`,
    );
  return values;
}

const isCursorValue = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && !value.includes('\0'));

function decode(text: string): unknown[] {
  try {
    const content: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(content) ? content : [];
  } catch {
    return [];
  }
}
