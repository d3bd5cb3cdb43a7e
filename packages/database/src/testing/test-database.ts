import { randomBytes } from 'node:crypto';
import { systemClock, systemRandomness, type Secret } from '@drover/service-kit';
import { Database } from '../connection/database.js';
import type { DatabaseIo } from '../connection/database-io.js';
import type { Migrations } from '../migrations/migrate.js';
import { migratedTemplate } from './migrated-template.js';
import { databaseOn, onServer, patientLimits } from './test-server.js';

/** Names the server that the test run started, or another one to test against. */
export const testServerVariable = 'DROVER_TEST_DATABASE_URL';

export const quietIo: DatabaseIo = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };

export interface TestDatabase {
  readonly url: Secret;
  /** Returns a connected `Database`; `drop` stops all of them. */
  connect(options?: Partial<DatabaseIo> & { readonly poolSize?: number }): Promise<Database>;
  drop(): Promise<void>;
}

/** Creates a database on the server of the test run: empty, or with the tables of `migrations`. */
export async function createTestDatabase(migrations: readonly Migrations[] = []): Promise<TestDatabase> {
  const server = process.env[testServerVariable];
  if (!server)
    throw new Error(`${testServerVariable} is not set. Run tests through vitest.config.ts, which starts a server.`);
  const name = `test_${randomBytes(6).toString('hex')}`;
  const template = migrations.length === 0 ? 'template1' : await migratedTemplate(server, migrations, quietIo);
  await onServer(server, (client) => client.query(`create database ${name} template ${template}`));
  const url = databaseOn(server, name);
  const opened: Database[] = [];
  return {
    url,
    async connect({ poolSize = 10, ...io } = {}) {
      const database = new Database({
        url,
        applicationName: 'test',
        poolSize,
        limits: patientLimits,
        ...quietIo,
        ...io,
      });
      opened.push(database);
      await database.start();
      return database;
    },
    async drop() {
      await Promise.all(opened.map((database) => database.stop()));
      await onServer(server, (client) => client.query(`drop database ${name} with (force)`));
    },
  };
}
