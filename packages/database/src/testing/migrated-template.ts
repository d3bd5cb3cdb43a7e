import { createHash } from 'node:crypto';
import { Database } from '../connection/database.js';
import type { DatabaseIo } from '../connection/database-io.js';
import { migrate, type Migrations } from '../migrations/migrate.js';
import { databaseOn, onServer, patientLimits } from './test-server.js';

/**
 * Returns the name of a database with the tables of `sets`, for CREATE DATABASE … TEMPLATE, which spares every test the
 * migrations. The first caller on a server makes it; its name holds a hash of the migrations, so a server that outlives the
 * test run never serves an old schema.
 */
export async function migratedTemplate(
  server: string,
  sets: readonly Migrations[],
  io: Pick<DatabaseIo, 'clock' | 'randomness' | 'observe'>,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(sets)).digest('hex').slice(0, 16);
  const name = `template_${hash}`;
  return onServer(server, async (client) => {
    const exists = async (): Promise<boolean> => {
      const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
      return rowCount === 1;
    };
    if (await exists()) return name;
    // Test files run in several processes: one makes the template, the others wait for it.
    await client.query(`select pg_advisory_lock(hashtext('drover test template'))`);
    if (await exists()) return name;
    // Renamed when it is complete: an interrupted run leaves no half-made template.
    const unfinished = `unfinished_${hash}`;
    await client.query(`drop database if exists ${unfinished} with (force)`);
    await client.query(`create database ${unfinished}`);
    const url = databaseOn(server, unfinished);
    const database = new Database({ url, applicationName: 'test', poolSize: 1, limits: patientLimits, ...io });
    try {
      await migrate(database, sets, { release: 'test', ...io });
    } finally {
      await database.stop();
    }
    await client.query(`alter database ${unfinished} rename to ${name}`);
    return name;
  });
}
