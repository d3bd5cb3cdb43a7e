import { Database, databaseMigrations } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { Secret, type Clock } from '@drover/service-kit';
import { ownershipMigrations } from '@drover/ownership';
import type { ExecutionStore } from '../execution-store.js';
import { executionMigrations } from '../postgres/execution-migrations.js';
import { PostgresExecutionStore, type PostgresExecutionStoreOptions } from '../postgres/postgres-execution-store.js';
import { contractLimits } from './execution-store-contract-limits.js';

/** A replica that is the home of partitions, as far as it knows, and what it found when it became that. */
export interface Replica {
  readonly store: PostgresExecutionStore;
  /** By partition. A test that takes one away makes the replica know that it is not the home any more. */
  readonly tokens: Map<number, number>;
  readonly recovered: Awaited<ReturnType<ExecutionStore['recover']>>;
}

/** A database of executions, with homes for all partitions. */
export interface PostgresWorld {
  readonly test: TestDatabase;
  readonly database: Database;
  /** Raises the tokens of these partitions: whoever had them does not have them any more, and may not know. */
  raiseTokens(partitions?: readonly number[]): Promise<void>;
  /** A replica with the tokens that are good now; it is stopped with the world. */
  open(options?: Partial<PostgresExecutionStoreOptions>): Promise<Replica>;
  /** Raises all tokens and opens a replica with the new ones. */
  takeOver(options?: Partial<PostgresExecutionStoreOptions>): Promise<Replica>;
  count(table: 'execution_journal' | 'executions'): Promise<number>;
  /** Cuts all connections to the database and lets nobody in, until told otherwise. */
  setAway(away: boolean): Promise<void>;
  close(): Promise<void>;
}

export const allPartitions: readonly number[] = Array.from({ length: 16 }, (_, partition) => partition);

export async function openPostgresWorld(clock: Clock): Promise<PostgresWorld> {
  const test = await createTestDatabase([databaseMigrations, ownershipMigrations, executionMigrations]);
  const database = await test.connect();
  const stores: PostgresExecutionStore[] = [];
  const world: PostgresWorld = {
    test,
    database,
    async raiseTokens(partitions = allPartitions) {
      await database.query('update drover.execution_homes set token = token + 1 where partition = any($1)', [
        partitions,
      ]);
    },
    async open(options = {}) {
      const homes = await database.query<{ partition: number; token: number }>(
        'select partition, token from drover.execution_homes',
      );
      const tokens = new Map(homes.map(({ partition, token }) => [partition, token]));
      const store = new PostgresExecutionStore({
        database,
        fencingTokens: { tokenOf: (partition) => tokens.get(partition) },
        ...contractLimits,
        randomness: quietIo.randomness,
        observe: () => undefined,
        clock,
        ...options,
      });
      stores.push(store);
      await store.start();
      return { store, tokens, recovered: await store.recover(allPartitions) };
    },
    async takeOver(options) {
      await world.raiseTokens();
      return world.open(options);
    },
    async count(table) {
      const [row] = await database.query<{ rows: number }>(`select count(*) as rows from drover.${table}`);
      return row?.rows ?? 0;
    },
    async setAway(away) {
      const url = new URL(test.url.reveal());
      const name = url.pathname.slice(1);
      url.pathname = '/postgres';
      const server = new Database({ url: new Secret(url.href), applicationName: 'test', poolSize: 1, ...quietIo });
      try {
        await server.query(`alter database ${name} allow_connections ${String(!away)}`);
        if (away)
          await server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
      } finally {
        await server.stop();
      }
    },
    async close() {
      await Promise.all(stores.map((store) => store.stop()));
      await test.drop();
    },
  };
  await world.raiseTokens(); // to 1: as if somebody had taken them for the first time
  return world;
}
