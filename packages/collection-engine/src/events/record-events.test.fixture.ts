import type { Database, Queryable } from '@drover/database';
import { createTestDatabase, quietIo } from '@drover/database/testing';
import { collectionTestSchema } from '../testing/collection-tables.js';
import type { FollowOptions } from './event-follower.js';
import type { RecordEvent } from './record-event.js';
import { RecordEventTail } from './record-event-tail.js';

export const orders = '0190a000-0000-7000-8000-000000000001';
export const customers = '0190a000-0000-7000-8000-000000000002';

export interface EventBench {
  readonly database: Database;
  /** Starts a tail that ends with the bench. Its reads take until `hold` has settled. */
  tail(options?: { readonly pollMs?: number; readonly hold?: () => Promise<void> }): Promise<RecordEventTail>;
  close(): Promise<void>;
}

export async function openEventBench(): Promise<EventBench> {
  const test = await createTestDatabase(collectionTestSchema);
  const database = await test.connect();
  const tails: RecordEventTail[] = [];
  return {
    database,
    async tail({ pollMs = 20, hold } = {}) {
      const own = hold ? await test.connect() : database;
      if (hold) slowDown(own, hold);
      const tail = new RecordEventTail({ ...quietIo, database: own, pollMs, observe: () => undefined });
      tails.push(tail);
      await tail.start();
      return tail;
    },
    async close() {
      await Promise.all(tails.map((tail) => tail.stop()));
      await test.drop();
    },
  };
}

/** Answers of the connection of the tail arrive when `hold` has settled; those of the pool at once. */
function slowDown(database: Database, hold: () => Promise<void>): void {
  const open = database.dedicatedConnection.bind(database);
  database.dedicatedConnection = (purpose) => {
    const connection = open(purpose);
    const query = connection.query.bind(connection);
    connection.query = async (...statement) => {
      const rows = await query(...statement);
      await hold();
      return rows as never; // of the type that the caller of the real one gets
    };
    return connection;
  };
}

/** Writes events as an operation does: the transaction has its id before it takes the ids of events. */
export async function writeEvents(
  target: Queryable,
  names: readonly string[],
  collectionId = orders,
): Promise<number[]> {
  await target.query('select pg_current_xact_id()');
  const rows = await target.query<{ id: number }>(
    `insert into drover.record_events (tenant_id, collection_id, record_id, version, kind, after, actor)
     select 'acme', $1, gen_random_uuid(), 1, 'created', jsonb_build_object('name', name), 'key'
     from unnest($2::text[]) with ordinality as given (name, n) order by n returning id`,
    [collectionId, names],
  );
  return rows.map(({ id }) => id);
}

/** A promise that a test resolves. */
export function gate<T = void>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** A transaction in progress that has written events. */
export async function openWrite(
  database: Database,
  names: readonly string[],
): Promise<{ readonly ids: readonly number[]; commit(): Promise<void>; rollBack(): Promise<void> }> {
  const end = gate<boolean>();
  const written = gate<number[]>();
  const done = database
    .transaction(async (tx) => {
      written.resolve(await writeEvents(tx, names));
      if (!(await end.promise)) throw new Error('rolled back');
    })
    .catch(() => undefined);
  const ids = await written.promise;
  const finish = async (isCommit: boolean): Promise<void> => {
    end.resolve(isCommit);
    await done;
  };
  return { ids, commit: () => finish(true), rollBack: () => finish(false) };
}

/** Collects what a follower yields; `stop` ends it. */
export function collect(tail: RecordEventTail, options: Omit<FollowOptions, 'signal'>) {
  const abort = new AbortController();
  const events: RecordEvent[] = [];
  const done = (async () => {
    for await (const batch of tail.follow({ ...options, signal: abort.signal })) events.push(...batch.events);
  })();
  return {
    events,
    ids: () => events.map(({ id }) => id),
    names: () => events.map(({ after }) => (JSON.parse(after ?? '{}') as { name: string }).name),
    async stop() {
      abort.abort();
      await done;
    },
  };
}
