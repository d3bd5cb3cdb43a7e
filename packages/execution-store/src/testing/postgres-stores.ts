import { Database, databaseMigrations } from '@drover/database';
import { createTestDatabase, patientLimits, quietIo, type TestDatabase } from '@drover/database/testing';
import { Secret, type Clock } from '@drover/service-kit';
import { ownershipMigrations } from '@drover/ownership';
import type { ExecutionStore } from '../execution-store.js';
import { executionMigrations } from '../postgres/execution-migrations.js';
import { PostgresExecutionStore, type PostgresExecutionStoreOptions } from '../postgres/postgres-execution-store.js';
import { contractLimits } from './sample-executions.js';

/** A replica that owns partitions, as far as it knows, and what it recovered. */
export interface StoreReplica {
  readonly store: PostgresExecutionStore;
  /** Fencing tokens by partition. A test deletes one to make the replica know that it lost the partition. */
  readonly tokens: Map<number, number>;
  readonly recovered: Awaited<ReturnType<ExecutionStore['recover']>>;
}

/** A database with executions, and stores of several replicas on it. */
export interface PostgresStores {
  readonly test: TestDatabase;
  readonly database: Database;
  /** Raises the tokens of these partitions: their owners lose them without knowing it. */
  raiseTokens(partitions?: readonly number[]): Promise<void>;
  /** Opens a replica with the current tokens. `close` stops it. */
  open(options?: Partial<PostgresExecutionStoreOptions>): Promise<StoreReplica>;
  /** Raises all tokens and opens a replica with the new ones: the next owner of all partitions. */
  takeOver(options?: Partial<PostgresExecutionStoreOptions>): Promise<StoreReplica>;
  count(table: 'execution_journal' | 'executions'): Promise<number>;
  /** Makes the database unavailable, by ending all connections and refusing new ones, or available again. */
  setUnavailable(isUnavailable: boolean): Promise<void>;
  close(): Promise<void>;
}

export const allPartitions: readonly number[] = Array.from({ length: 16 }, (_, partition) => partition);

export async function openPostgresStores(clock: Clock): Promise<PostgresStores> {
  const test = await createTestDatabase([databaseMigrations, ownershipMigrations, executionMigrations]);
  const database = await test.connect();
  const stores: PostgresExecutionStore[] = [];
  const opened: PostgresStores = {
    test,
    database,
    async raiseTokens(partitions = allPartitions) {
      await database.query('update drover.execution_homes set token = token + 1 where partition = any($1)', [
        partitions,
      ]);
    },
    async open(options = {}) {
      const owners = await database.query<{ partition: number; token: number }>(
        'select partition, token from drover.execution_homes',
      );
      const tokens = new Map(owners.map(({ partition, token }) => [partition, token]));
      const store = new PostgresExecutionStore({
        database,
        fencingTokens: {
          tokenOf: (partition) => tokens.get(partition),
          heldTokenOf: (partition) => tokens.get(partition),
        },
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
      await opened.raiseTokens();
      return opened.open(options);
    },
    async count(table) {
      const [row] = await database.query<{ rows: number }>(`select count(*) as rows from drover.${table}`);
      return row?.rows ?? 0;
    },
    async setUnavailable(isUnavailable) {
      const url = new URL(test.url.reveal());
      const name = url.pathname.slice(1);
      url.pathname = '/postgres';
      const server = new Database({
        url: new Secret(url.href),
        applicationName: 'test',
        poolSize: 1,
        limits: patientLimits,
        ...quietIo,
      });
      try {
        await server.query(`alter database ${name} allow_connections ${String(!isUnavailable)}`);
        if (isUnavailable)
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
  await opened.raiseTokens(); // to 1, the token of the first owner
  return opened;
}
