import { databaseMigrations, migrate, type Database } from '@drover/database';
import { createTestDatabase, quietIo } from '@drover/database/testing';
import { systemClock } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownershipMigrations } from '@drover/ownership';
import type { AcceptedCall } from '@drover/contracts';
import { allPartitions, openPostgresStores, type PostgresStores } from '../testing/postgres-stores.js';
import { acme, deadLetterAt, globex, acceptedCallAt, outcomeAt } from '../testing/sample-executions.js';
import { executionMigrations } from './execution-migrations.js';
import type { PostgresExecutionStore } from './postgres-execution-store.js';

let clock: FakeClock;
let stores: PostgresStores;
let store: PostgresExecutionStore;

beforeEach(async () => {
  clock = new FakeClock();
  stores = await openPostgresStores(clock);
  ({ store } = await stores.open());
});
afterEach(() => stores.close());

const dayMs = 86_400_000;
const callbackUrl = 'https://example.org/done?key="1"';

function withCallback(more: Parameters<typeof acceptedCallAt>[1] = {}): AcceptedCall {
  return acceptedCallAt(clock.now(), { callbackUrl, ...more });
}

async function pendingIds(by = store, partitions = allPartitions): Promise<string[]> {
  return (await by.pendingCallbacks.list(partitions, undefined, 100)).map(({ executionId }) => executionId);
}

/** Removes pending callbacks without lingering for others. */
async function remove(...calls: readonly AcceptedCall[]): Promise<void> {
  const removed = Promise.all(calls.map((accepted) => store.pendingCallbacks.remove(accepted)));
  await store.pendingCallbacks.drain(new AbortController().signal);
  await removed;
}

/** Records the names of the statements that are sent. */
function recorded(database: Database): { readonly database: Database; readonly statements: string[] } {
  const statements: string[] = [];
  const proxy = new Proxy(database, {
    get(target, property) {
      if (property !== 'query') return Reflect.get(target, property, target) as unknown;
      return (statement: Parameters<Database['query']>[0], values?: readonly unknown[]) => {
        statements.push(typeof statement === 'string' ? statement : String(statement.name));
        return target.query(statement, values);
      };
    },
  });
  return { database: proxy, statements };
}

describe('pending callbacks', () => {
  it('are added with the end of calls that have a callback URL, and of no others, in the same statement', async () => {
    const { database, statements } = recorded(stores.database);
    const { store: owner } = await stores.open({ database });
    const [asked, other] = [withCallback(), acceptedCallAt(clock.now())];
    await owner.accept([asked, other]);
    expect(await pendingIds()).toEqual([]);
    statements.length = 0;
    await owner.finish(other, outcomeAt(clock.now()));
    await Promise.all(
      [withCallback({ partition: 4 }), acceptedCallAt(clock.now()), asked].map((each) =>
        owner.finish(each, outcomeAt(clock.now())),
      ),
    );
    expect(statements).toEqual(['execution-archive', 'execution-archive-with-callbacks']);
    const rows = await stores.database.query(
      `select execution.xmin = mark.xmin as together from drover.executions execution
       left join drover.execution_callbacks mark using (execution_id, tenant_id) order by together`,
    );
    expect(rows).toEqual([{ together: true }, { together: true }, { together: null }, { together: null }]);
  });

  it('are not added when the end was refused', async () => {
    const moved = withCallback();
    await store.accept([moved]);
    await stores.raiseTokens();
    await expect(store.finish(moved, outcomeAt(clock.now()))).rejects.toMatchObject({ code: 'EXECUTION_HOME_LOST' });
    expect(await stores.count('executions')).toBe(0);
    expect(await pendingIds()).toEqual([]);
  });

  it('are listed for the next owner in the order of acceptance, by page and by partition', async () => {
    const calls = [9, 3, 9, 1].map((partition) => withCallback({ partition }));
    const ids = calls.map(({ executionId }) => executionId);
    for (const accepted of calls.toReversed()) await store.finish(accepted, outcomeAt(clock.now()));
    const { store: next } = await stores.takeOver();
    expect(await pendingIds(next)).toEqual(ids);
    expect(await pendingIds(next, [9, 1])).toEqual([ids[0], ids[2], ids[3]]);
    const page = await next.pendingCallbacks.list(allPartitions, ids[0], 2);
    expect(page).toEqual(
      [calls[1], calls[2]].map((accepted) => ({
        executionId: accepted?.executionId,
        tenantId: acme,
        partition: accepted === calls[1] ? 3 : 9,
        dueUntil: clock.now() + dayMs,
        bytes: '{"ok":true}'.length,
      })),
    );
  });

  it('are read with the whole result, without the input', async () => {
    const [good, bad] = [withCallback({ json: '"large"', traceId: 't' }), withCallback({ tenantId: globex })];
    const outcome = outcomeAt(clock.now() + 7, { headers: { 'content-type': 'text/x' }, json: '"ü"' });
    await store.finish(good, outcome);
    await store.finish(bad, deadLetterAt(clock.now()));
    const pending = await store.pendingCallbacks.list(allPartitions, undefined, 10);
    const read = await store.pendingCallbacks.read(pending);
    expect(read.toSorted((a, b) => (a.accepted.executionId < b.accepted.executionId ? -1 : 1))).toEqual([
      { accepted: { ...good, payload: { json: 'null' } }, outcome, evicted: false },
      { accepted: { ...bad, payload: { json: 'null' } }, outcome: deadLetterAt(clock.now()), evicted: false },
    ]);
    expect(await store.pendingCallbacks.read([])).toEqual([]);
  });

  it('are removed, many at once, also by a former owner', async () => {
    const { database, statements } = recorded(stores.database);
    const { store: former } = await stores.open({ database });
    const calls = Array.from({ length: 600 }, (_, n) => withCallback({ partition: n % 16 }));
    await Promise.all(calls.map((accepted) => former.finish(accepted, outcomeAt(clock.now()))));
    await stores.raiseTokens();
    statements.length = 0;
    const removed = Promise.all(calls.slice(1).map((accepted) => former.pendingCallbacks.remove(accepted)));
    await former.pendingCallbacks.drain(new AbortController().signal);
    await removed;
    expect(statements).toEqual(['execution-callbacks-remove']);
    expect(await pendingIds()).toEqual([calls[0]?.executionId]);
    expect(await stores.count('executions')).toBe(600);
  });

  it('keep an expired execution, which is no longer found, until they are removed', async () => {
    const [asked, done, other] = [withCallback({ idempotencyKey: 'k' }), withCallback(), acceptedCallAt(clock.now())];
    for (const accepted of [asked, done, other]) await store.finish(accepted, outcomeAt(clock.now()));
    await remove(done);
    await clock.advance(dayMs / 2);
    await store.runMaintenance();
    expect(await stores.count('executions')).toBe(1);
    expect(await store.find(acme, asked.executionId)).toBeUndefined();
    expect((await stores.open()).recovered.keys).toEqual([]);
    const pending = await store.pendingCallbacks.list(allPartitions, undefined, 10);
    expect(await store.pendingCallbacks.read(pending)).toMatchObject([
      { accepted: { executionId: asked.executionId, callbackUrl } },
    ]);
    await remove(asked);
    await store.runMaintenance();
    expect(await stores.count('executions')).toBe(0);
    const [sum] = await stores.database.query('select sum(bytes)::float8 as bytes from drover.execution_bytes');
    expect(sum).toEqual({ bytes: 0 });
  });

  it('do not protect payloads from eviction, and report it', async () => {
    const { store: small } = await stores.open({ maxBytes: 10 });
    await small.finish(withCallback(), outcomeAt(clock.now()));
    await small.runMaintenance();
    const pending = await small.pendingCallbacks.list(allPartitions, undefined, 10);
    expect(pending).toMatchObject([{ bytes: 0 }]);
    expect(await small.pendingCallbacks.read(pending)).toMatchObject([{ evicted: true, accepted: { callbackUrl } }]);
  });

  it('are listed even when their execution is gone', async () => {
    await store.finish(withCallback(), outcomeAt(clock.now()));
    await stores.database.query('delete from drover.executions');
    const pending = await store.pendingCallbacks.list(allPartitions, undefined, 10);
    expect(pending).toMatchObject([{ bytes: 0 }]);
    expect(await store.pendingCallbacks.read(pending)).toEqual([]);
  });

  it('are removed once the database is available again; what waits when the store stops is left to the next owner', async () => {
    const { store: owner } = await stores.open({ clock: systemClock });
    const [first, second] = [withCallback(), withCallback()];
    for (const accepted of [first, second]) await owner.finish(accepted, outcomeAt(clock.now()));
    await stores.setUnavailable(true);
    let isRemoved = false;
    const removing = owner.pendingCallbacks.remove(first).then(() => (isRemoved = true));
    await expect(owner.find(acme, first.executionId)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(isRemoved).toBe(false);
    await stores.setUnavailable(false);
    await removing;
    expect(await eventually(() => pendingIds())).toEqual([second.executionId]);
    await stores.setUnavailable(true);
    const late = Promise.allSettled([owner.pendingCallbacks.remove(second)]);
    void owner.pendingCallbacks.drain(new AbortController().signal); // ends lingering
    await expect(owner.find(acme, first.executionId)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    await owner.stop();
    expect(await late).toMatchObject([{ status: 'rejected', reason: { code: 'EXECUTION_STORE_STOPPED' } }]);
    await stores.setUnavailable(false);
    expect(await eventually(() => pendingIds())).toEqual([second.executionId]);
  });

  it('do not affect a replica of the previous release, which does not know them', async () => {
    const test = await createTestDatabase();
    try {
      const database = await test.connect();
      const before = { ...executionMigrations, steps: executionMigrations.steps.slice(0, 1) };
      const io = { release: 'test', ...quietIo };
      await migrate(database, [databaseMigrations, ownershipMigrations, before], io);
      await database.query('update drover.execution_homes set token = 1');
      const archive = (id: string): Promise<unknown> =>
        database.query(
          `select drover.archive_executions('{3}', '{1}', '{}', '{}', '{}', 4, false, '{acme}', array[$1::uuid], '{3}', '{f}', '{1}',
             '{success}', '{2030-01-01}', '{2030-01-01}', '{2030-01-02}', '{null}', '{null}', '{false}', '{1}', '{2}', '{"{}"}')`,
          [id],
        );
      const expire = `select drover.remove_expired_executions('{3}', '{1}', '{3000-01-01}', '2031-01-01', 10) as removed`;
      await archive(withCallback().executionId);
      await migrate(database, [databaseMigrations, ownershipMigrations, executionMigrations], io);
      await archive(withCallback().executionId);
      expect(await database.query(expire)).toEqual([{ removed: 2 }]);
    } finally {
      await test.drop();
    }
  });
});
