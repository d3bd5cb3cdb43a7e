import { Database, migrate, prepared, type Queryable } from '@drover/database';
import type { Clock, Randomness, Secret } from '@drover/service-kit';
import { rejectOnAbort } from '../requests.js';
import { triggerStoreMigrations } from './trigger-store-migrations.js';
import { inKeyOrder, type StoredState, type TriggerStore } from './trigger-store.js';

const read = prepared(
  'trigger-state-read',
  'select key, value, version::text as version from drover.trigger_states where key = $1',
);
const list = prepared(
  'trigger-state-list',
  'select key, value, version::text as version from drover.trigger_states where starts_with(key, $1)',
);
const insert = prepared(
  'trigger-state-insert',
  'insert into drover.trigger_states (key, value) values ($1, $2) on conflict do nothing returning version::text as version',
);
/** The version is compared as text: one of another store is no number, and must be refused like an old one. */
const update = prepared(
  'trigger-state-update',
  `update drover.trigger_states
   set value = $2, version = nextval('drover.trigger_state_versions'), written_at = clock_timestamp()
   where key = $1 and version::text = $3
   returning version::text as version`,
);
const remove = prepared('trigger-state-remove', 'delete from drover.trigger_states where key = $1');

/** State in a table of PostgreSQL. This module loads the database driver: import it only where a store is opened. */
export class PostgresTriggerStore implements TriggerStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async read(key: string, signal: AbortSignal): Promise<StoredState | undefined> {
    const [state] = await rejectOnAbort(() => this.#database.query<StoredState>(read, [key]), signal);
    return state;
  }

  async write(
    key: string,
    value: string,
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const [written] = await rejectOnAbort(
      () =>
        expected === undefined
          ? this.#database.query<{ version: string }>(insert, [key, value])
          : this.#database.query<{ version: string }>(update, [key, value, expected]),
      signal,
    );
    return written?.version;
  }

  async list(prefix: string, signal: AbortSignal): Promise<readonly StoredState[]> {
    return inKeyOrder(await rejectOnAbort(() => this.#database.query<StoredState>(list, [prefix]), signal));
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await rejectOnAbort(() => this.#database.query(remove, [key]), signal);
  }
}

interface PostgresStoreOptions {
  readonly url: Secret;
  /** Recorded with the migration. */
  readonly release: string;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/** A few statements at a time: the store is for small state, and every runtime has a pool of its own. */
const poolSize = 4;
const limits = { statementTimeoutMs: 10_000, connectTimeoutMs: 2_000 };

/** Connects and creates the table if it is missing. The pool reconnects by itself; statements reject while the server is away. */
export async function openPostgresStore({
  url,
  release,
  clock,
  randomness,
}: PostgresStoreOptions): Promise<{ readonly store: TriggerStore; readonly close: () => Promise<void> }> {
  // Outages are observed by the caller, for each use of the store.
  const observe = (): void => undefined;
  const database = new Database({
    url,
    applicationName: 'drover triggers',
    poolSize,
    limits,
    clock,
    randomness,
    observe,
  });
  try {
    await database.start();
    await migrate(database, [triggerStoreMigrations], { release, clock, observe });
  } catch (error) {
    await database.stop();
    throw error;
  }
  return { store: new PostgresTriggerStore(database), close: () => database.stop() };
}
