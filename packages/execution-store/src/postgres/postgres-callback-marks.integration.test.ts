import { databaseMigrations, migrate, type Database } from '@drover/database';
import { createTestDatabase, quietIo } from '@drover/database/testing';
import { systemClock } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownershipMigrations } from '@drover/ownership';
import type { AcceptedCall } from '@drover/contracts';
import { allPartitions, openPostgresWorld, type PostgresWorld } from '../testing/postgres-world.js';
import { acme, deadLetterAt, globex, acceptedCallAt, outcomeAt } from '../testing/sample-executions.js';
import { executionMigrations } from './execution-migrations.js';
import type { PostgresExecutionStore } from './postgres-execution-store.js';

let clock: FakeClock;
let world: PostgresWorld;
let store: PostgresExecutionStore;

beforeEach(async () => {
  clock = new FakeClock();
  world = await openPostgresWorld(clock);
  ({ store } = await world.open());
});
afterEach(() => world.close());

const dayMs = 86_400_000;
const callbackUrl = 'https://example.org/done?key="1"';

function wanted(more: Parameters<typeof acceptedCallAt>[1] = {}): AcceptedCall {
  return acceptedCallAt(clock.now(), { callbackUrl, ...more });
}

async function marked(by = store, partitions = allPartitions): Promise<string[]> {
  return (await by.callbackMarks.list(partitions, undefined, 100)).map(({ executionId }) => executionId);
}

/** Removes marks without waiting for the moment in which others could join. */
async function remove(...calls: readonly AcceptedCall[]): Promise<void> {
  const removed = Promise.all(calls.map((accepted) => store.callbackMarks.remove(accepted)));
  await store.callbackMarks.drain(new AbortController().signal);
  await removed;
}

/** What is said to the database. */
function overheard(database: Database): { readonly database: Database; readonly statements: string[] } {
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

describe('marks of results that are to be delivered', () => {
  it('are written with the end of those who asked for it, and of nobody else, in the same statement', async () => {
    const { database, statements } = overheard(world.database);
    const { store: home } = await world.open({ database });
    const [asked, other] = [wanted(), acceptedCallAt(clock.now())];
    await home.accept([asked, other]);
    expect(await marked()).toEqual([]);
    statements.length = 0;
    await home.finish(other, outcomeAt(clock.now()));
    await Promise.all(
      [wanted({ partition: 4 }), acceptedCallAt(clock.now()), asked].map((each) =>
        home.finish(each, outcomeAt(clock.now())),
      ),
    );
    expect(statements).toEqual(['execution-archive', 'execution-archive-with-callbacks']);
    const rows = await world.database.query(
      `select execution.xmin = mark.xmin as together from drover.executions execution
       left join drover.execution_callbacks mark using (execution_id, tenant_id) order by together`,
    );
    expect(rows).toEqual([{ together: true }, { together: true }, { together: null }, { together: null }]);
  });

  it('are not there when the end was not kept', async () => {
    const moved = wanted();
    await store.accept([moved]);
    await world.raiseTokens();
    await expect(store.finish(moved, outcomeAt(clock.now()))).rejects.toMatchObject({ code: 'EXECUTION_HOME_LOST' });
    expect(await world.count('executions')).toBe(0);
    expect(await marked()).toEqual([]);
  });

  it('are found by the next home, in the order of acceptance, page by page, of the partitions it asks for', async () => {
    const calls = [9, 3, 9, 1].map((partition) => wanted({ partition }));
    const ids = calls.map(({ executionId }) => executionId);
    for (const accepted of calls.toReversed()) await store.finish(accepted, outcomeAt(clock.now()));
    const { store: next } = await world.takeOver();
    expect(await marked(next)).toEqual(ids);
    expect(await marked(next, [9, 1])).toEqual([ids[0], ids[2], ids[3]]);
    const page = await next.callbackMarks.list(allPartitions, ids[0], 2);
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

  it('lead to the whole result, without the input', async () => {
    const [good, bad] = [wanted({ json: '"large"', traceId: 't' }), wanted({ tenantId: globex })];
    const outcome = outcomeAt(clock.now() + 7, { headers: { 'content-type': 'text/x' }, json: '"ü"' });
    await store.finish(good, outcome);
    await store.finish(bad, deadLetterAt(clock.now()));
    const marks = await store.callbackMarks.list(allPartitions, undefined, 10);
    const read = await store.callbackMarks.read(marks);
    expect(read.toSorted((a, b) => (a.accepted.executionId < b.accepted.executionId ? -1 : 1))).toEqual([
      { accepted: { ...good, payload: { json: 'null' } }, outcome, evicted: false },
      { accepted: { ...bad, payload: { json: 'null' } }, outcome: deadLetterAt(clock.now()), evicted: false },
    ]);
    expect(await store.callbackMarks.read([])).toEqual([]);
  });

  it('are removed, many at once, also by a former home', async () => {
    const { database, statements } = overheard(world.database);
    const { store: former } = await world.open({ database });
    const calls = Array.from({ length: 600 }, (_, n) => wanted({ partition: n % 16 }));
    await Promise.all(calls.map((accepted) => former.finish(accepted, outcomeAt(clock.now()))));
    await world.raiseTokens();
    statements.length = 0;
    const removed = Promise.all(calls.slice(1).map((accepted) => former.callbackMarks.remove(accepted)));
    await former.callbackMarks.drain(new AbortController().signal);
    await removed;
    expect(statements).toEqual(['execution-callbacks-remove']);
    expect(await marked()).toEqual([calls[0]?.executionId]);
    expect(await world.count('executions')).toBe(600);
  });

  it('keep an execution, which nobody else sees any more, beyond its time; without its mark it goes', async () => {
    const [asked, done, other] = [wanted({ idempotencyKey: 'k' }), wanted(), acceptedCallAt(clock.now())];
    for (const accepted of [asked, done, other]) await store.finish(accepted, outcomeAt(clock.now()));
    await remove(done);
    await clock.advance(dayMs / 2);
    await store.keepUp();
    expect(await world.count('executions')).toBe(1);
    expect(await store.find(acme, asked.executionId)).toBeUndefined();
    expect((await world.open()).recovered.keys).toEqual([]);
    const marks = await store.callbackMarks.list(allPartitions, undefined, 10);
    expect(await store.callbackMarks.read(marks)).toMatchObject([
      { accepted: { executionId: asked.executionId, callbackUrl } },
    ]);
    await remove(asked);
    await store.keepUp();
    expect(await world.count('executions')).toBe(0);
    const [sum] = await world.database.query('select sum(bytes)::float8 as bytes from drover.execution_bytes');
    expect(sum).toEqual({ bytes: 0 });
  });

  it('do not keep payloads from being dropped for want of room, and say so', async () => {
    const { store: small } = await world.open({ maxBytes: 10 });
    await small.finish(wanted(), outcomeAt(clock.now()));
    await small.keepUp();
    const marks = await small.callbackMarks.list(allPartitions, undefined, 10);
    expect(marks).toMatchObject([{ bytes: 0 }]);
    expect(await small.callbackMarks.read(marks)).toMatchObject([{ evicted: true, accepted: { callbackUrl } }]);
  });

  it('are still listed when their execution is gone all the same', async () => {
    await store.finish(wanted(), outcomeAt(clock.now()));
    await world.database.query('delete from drover.executions');
    const marks = await store.callbackMarks.list(allPartitions, undefined, 10);
    expect(marks).toMatchObject([{ bytes: 0 }]);
    expect(await store.callbackMarks.read(marks)).toEqual([]);
  });

  it('are removed once the database is back; what waits when the store stops is left to the next home', async () => {
    const { store: home } = await world.open({ clock: systemClock });
    const [first, second] = [wanted(), wanted()];
    for (const accepted of [first, second]) await home.finish(accepted, outcomeAt(clock.now()));
    await world.setAway(true);
    let isRemoved = false;
    const removing = home.callbackMarks.remove(first).then(() => (isRemoved = true));
    await expect(home.find(acme, first.executionId)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(isRemoved).toBe(false);
    await world.setAway(false);
    await removing;
    expect(await eventually(() => marked())).toEqual([second.executionId]);
    await world.setAway(true);
    const late = Promise.allSettled([home.callbackMarks.remove(second)]);
    void home.callbackMarks.drain(new AbortController().signal); // it is tried now
    await expect(home.find(acme, first.executionId)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    await home.stop();
    expect(await late).toMatchObject([{ status: 'rejected', reason: { code: 'EXECUTION_STORE_STOPPED' } }]);
    await world.setAway(false);
    expect(await eventually(() => marked())).toEqual([second.executionId]);
  });

  it('do not disturb a replica of the release before, which knows nothing of them', async () => {
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
      await archive(wanted().executionId);
      await migrate(database, [databaseMigrations, ownershipMigrations, executionMigrations], io);
      await archive(wanted().executionId);
      expect(await database.query(expire)).toEqual([{ removed: 2 }]);
    } finally {
      await test.drop();
    }
  });
});
