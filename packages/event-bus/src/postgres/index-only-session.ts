import type { Queryable } from '@drover/database';

/**
 * Makes a new connection read the outbox and the log by their indexes. PostgreSQL keeps the plan of a prepared statement
 * that it made when the table was nearly empty, and that plan reads the whole table; until the next analyze, which may be
 * minutes and a hundred thousand events later, every look for news would get slower.
 */
export async function readByIndex(connection: Queryable): Promise<void> {
  for (const way of ['seqscan', 'bitmapscan', 'sort']) await connection.query(`set enable_${way} = off`);
}
