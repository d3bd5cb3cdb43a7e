import type { Database, Queryable } from '@drover/database';

/**
 * Runs a statement that is a transaction by itself, or part of `within`. After a deadlock it runs again in a transaction, which
 * Database retries with growing delays; a larger transaction is retried as a whole by its owner.
 */
export function runStatement<T>(
  database: Queryable & Pick<Database, 'transaction'>,
  run: (target: Queryable) => Promise<T>,
  within?: Queryable,
): Promise<T> {
  if (within) return run(within);
  return run(database).catch((error: unknown) => {
    if (!isConflict(error)) throw error;
    return database.transaction(run);
  });
}

const isConflict = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '40P01' || error.code === '40001');
