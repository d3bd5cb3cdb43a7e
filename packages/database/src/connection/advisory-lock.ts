import { prepared } from './statement.js';
import type { Transaction } from './database.js';

const lockStatement = prepared('advisory-lock', 'select pg_advisory_xact_lock(hashtextextended($1, 0))');

/** Acquires a lock on `name` for the rest of the transaction, across all clients of this database. Waits for other holders. */
export async function lockInTransaction(tx: Transaction, name: string): Promise<void> {
  await tx.query(lockStatement, [name]);
}
