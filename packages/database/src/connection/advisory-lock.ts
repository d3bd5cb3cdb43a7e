import { prepared } from './statement.js';
import type { Transaction } from './database.js';

const lockStatement = prepared('advisory-lock', 'select pg_advisory_xact_lock(hashtextextended($1, 0))');

/** One transaction at a time for `name`, on all machines that use this database; waits for its turn, ends with it. */
export async function lockInTransaction(tx: Transaction, name: string): Promise<void> {
  await tx.query(lockStatement, [name]);
}
