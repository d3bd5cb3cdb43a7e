import type { Queryable } from '@drover/database';

/**
 * Makes a new connection read outbox and log by their indexes. PostgreSQL caches the plan of a prepared statement that it made
 * when the table was nearly empty, which is a sequential scan; until the next analyze, which may be minutes and a hundred
 * thousand events later, every read would get slower.
 */
export async function readByIndex(connection: Queryable): Promise<void> {
  for (const method of ['seqscan', 'bitmapscan', 'sort']) await connection.query(`set enable_${method} = off`);
}
