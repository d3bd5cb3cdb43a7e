import type { Queryable } from '@drover/database';
import { isRefusedByServer } from '@drover/database';
import { queryInvalid } from '../request/request-errors.js';
import type { PreparedStatements } from '../sql/prepared-statements.js';
import type { Sql } from '../sql/sql.js';

/** Runs the statement of a read. `parameter` names the part of the query that errors are about. */
export function runQuery<R extends object>(
  { database, statements }: { readonly database: Queryable; readonly statements: PreparedStatements },
  statement: Sql,
  parameter: string,
): Promise<R[]> {
  return queryErrors(statements.run<R>(database, statement), parameter);
}

/**
 * Rejects with INVALID_QUERY if PostgreSQL refuses a value that only it can judge (a regular expression, the values in a cursor): the
 * request is wrong then, and not the platform.
 */
export async function queryErrors<T>(running: Promise<T>, parameter: string): Promise<T> {
  try {
    return await running;
  } catch (error) {
    if (!isRefusedByServer(error) || !isAboutValues(error)) throw error;
    throw queryInvalid(
      {
        problems: [
          {
            code: 'INVALID_VALUE',
            detail: `PostgreSQL refuses a value of the query: ${(error as Error).message}. Correct the value.`,
            source: { parameter },
          },
        ],
      },
      error,
    );
  }
}

/** Class 22 is "data exception"; 54 is "program limit exceeded", such as a regular expression that is nested too deep. */
const isAboutValues = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^(?:22|54)/.test(error.code);
