import { randomBytes } from 'node:crypto';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import pg from 'pg';
import { Database } from '../connection/database.js';
import type { DatabaseIo } from '../connection/database-io.js';

/** Names the server that the test run started, or that somebody wants tested instead. */
export const testServerVariable = 'DROVER_TEST_DATABASE_URL';

export const quietIo: DatabaseIo = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };

export interface TestDatabase {
  readonly url: Secret;
  /** A connected `Database`; all of them are stopped by `drop`. */
  connect(options?: Partial<DatabaseIo> & { readonly poolSize?: number }): Promise<Database>;
  drop(): Promise<void>;
}

/** A new, empty database on the test run's server. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = process.env[testServerVariable];
  if (!server)
    throw new Error(`${testServerVariable} is not set: run tests through vitest.config.ts, which starts a server`);
  const name = `test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const opened: Database[] = [];
  return {
    url: new Secret(url.href),
    async connect({ poolSize = 10, ...io } = {}) {
      const database = new Database({
        url: new Secret(url.href),
        applicationName: 'test',
        poolSize,
        ...quietIo,
        ...io,
      });
      opened.push(database);
      await database.start();
      return database;
    },
    async drop() {
      await Promise.all(opened.map((database) => database.stop()));
      await onServer(server, `drop database ${name} with (force)`);
    },
  };
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
