import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPostgresWorld, type PostgresWorld } from '../testing/postgres-world.js';
import { acme, acceptedCallAt, outcomeAt } from '../testing/sample-executions.js';
import { acceptedEntry } from './journal-entry.js';

let clock: FakeClock;
let world: PostgresWorld;

beforeEach(async () => {
  clock = new FakeClock();
  world = await openPostgresWorld(clock);
});
afterEach(() => world.close());

const homeLost = { code: 'EXECUTION_HOME_LOST', status: 503, retryable: true };

describe('PostgresExecutionStore, when homes move', () => {
  it('refuses everything that a former home writes, even if it does not know', async () => {
    const { store: former } = await world.open();
    const accepted = acceptedCallAt(clock.now());
    await former.accept([accepted]);
    const { store: home, recovered } = await world.takeOver();
    expect(recovered.unfinished).toMatchObject([{ accepted, attempts: 1 }]);
    await expect(former.accept([acceptedCallAt(clock.now())])).rejects.toMatchObject(homeLost);
    await expect(former.recordRetry(accepted, [], 1)).rejects.toMatchObject(homeLost);
    await expect(former.finish(accepted, outcomeAt(clock.now()))).rejects.toMatchObject(homeLost);
    await expect(former.finish(acceptedCallAt(clock.now()), outcomeAt(clock.now()))).rejects.toMatchObject(homeLost);
    await expect(former.recover([3])).rejects.toMatchObject(homeLost);
    expect(await world.count('executions')).toBe(0);
    await home.finish(accepted, outcomeAt(clock.now()));
    expect(await world.count('execution_journal')).toBe(0);
    expect((await world.takeOver()).recovered.unfinished).toEqual([]);
  });

  it('refuses without asking the database what it knows to be lost, and what it has not recovered', async () => {
    const { store, tokens } = await world.open();
    const accepted = acceptedCallAt(clock.now());
    await store.accept([accepted]);
    tokens.delete(3);
    await expect(store.accept([acceptedCallAt(clock.now())])).rejects.toMatchObject(homeLost);
    await expect(store.finish(accepted, outcomeAt(clock.now()))).rejects.toMatchObject(homeLost);
    tokens.set(3, 2);
    await expect(store.accept([acceptedCallAt(clock.now())])).rejects.toMatchObject(homeLost);
    await expect(store.finish(accepted, outcomeAt(clock.now()))).rejects.toMatchObject(homeLost);
  });

  it('writes the others of a batch, and all or nothing of one call', async () => {
    const { store } = await world.open();
    await world.raiseTokens([4]);
    const [kept, moved, alsoKept] = [3, 4, 5].map((partition) => acceptedCallAt(clock.now(), { partition }));
    if (!kept || !moved || !alsoKept) return expect.unreachable();
    const mixed = [acceptedCallAt(clock.now(), { partition: 3 }), acceptedCallAt(clock.now(), { partition: 4 })];
    const accepted = await Promise.allSettled([
      store.accept([kept]),
      store.accept([moved]),
      store.accept(mixed),
      store.accept([alsoKept]),
    ]);
    expect(accepted.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    const finished = await Promise.allSettled(
      [kept, moved, ...mixed].map((accepted) => store.finish(accepted, outcomeAt(clock.now()))),
    );
    expect(finished.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    const { recovered } = await world.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([alsoKept]);
  });

  it('waits for a write of the former home that is under way, and finds it', async () => {
    const { store: former } = await world.open();
    const accepted = acceptedCallAt(clock.now());
    let commit = (): void => undefined;
    const mayCommit = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const writing = world.database.transaction(async (tx) => {
      await tx.query('select drover.append_to_execution_journal($1, $2, $3, $4, $5)', [
        [3],
        [1],
        [1],
        [1],
        [acceptedEntry(accepted, 0, [])],
      ]);
      await mayCommit;
    });
    const advisoryLocks = (granted: boolean): Promise<unknown[]> =>
      world.database.query(
        `select from pg_locks join pg_database on pg_database.oid = database
         where locktype = 'advisory' and objid = 3 and granted = $1 and datname = current_database()`,
        [granted],
      );
    await eventually(async () => (await advisoryLocks(true)).length === 1);
    const taking = world.takeOver();
    await eventually(async () => (await advisoryLocks(false)).length === 1);
    commit();
    await writing;
    expect((await taking).recovered.unfinished).toMatchObject([{ accepted }]);
    await expect(former.accept([acceptedCallAt(clock.now())])).rejects.toMatchObject(homeLost);
  });

  it('gives numbers that grow from home to home', async () => {
    const { store } = await world.open();
    const failure = { attempt: 2, startedAt: 1, finishedAt: 2, error: { code: 'POOL_ERROR', message: 'no' } };
    const [fresh, tried] = [acceptedCallAt(clock.now()), acceptedCallAt(clock.now())];
    await store.accept([fresh, tried]);
    await store.recordRetry(tried, [failure], 2);
    for (const [a, b] of [
      [1, 3],
      [2, 4],
      [3, 5],
    ]) {
      expect((await world.takeOver()).recovered.unfinished).toEqual([
        { accepted: fresh, attempts: a, failures: [] },
        { accepted: tried, attempts: b, failures: [failure] },
      ]);
    }
    const { store: last } = await world.takeOver();
    await last.recordRetry(tried, [failure, failure], 7);
    await last.finish(fresh, outcomeAt(clock.now()));
    await last.keepUp();
    expect((await world.takeOver()).recovered.unfinished).toEqual([
      { accepted: tried, attempts: 8, failures: [failure, failure] },
    ]);
    expect(await world.count('executions')).toBe(1);
    expect((await last.find(acme, fresh.executionId))?.outcome.status).toBe('success');
  });

  it('says which row it cannot read', async () => {
    await world.database.query(`insert into drover.execution_journal values (3, 1, 1, '{"id":"a","size":5}')`);
    await expect(world.open()).rejects.toMatchObject({
      code: 'EXECUTION_JOURNAL_UNREADABLE',
      details: { partition: 3, token: 1, number: 1 },
    });
  });
});
