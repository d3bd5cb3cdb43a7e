import { isCodedError } from '@drover/contracts';

/**
 * SQL states of a statement that was made from a definition that is not current: unknown column (42703), table (42P01) or operator
 * (42883), another type (42804), and a prepared statement whose result has changed (0A000).
 */
const schemaStates: ReadonlySet<string> = new Set(['42703', '42P01', '42883', '42804', '0A000']);

/** Whether a definition that changed meanwhile may be why the request failed: a field that it does not know, or a column that is gone. */
export function mayBeOutdated(error: unknown): boolean {
  if (isCodedError(error)) return error.fault === 'caller' && (error.status === 400 || error.status === 422);
  return error instanceof Error && 'code' in error && schemaStates.has(String(error.code));
}
