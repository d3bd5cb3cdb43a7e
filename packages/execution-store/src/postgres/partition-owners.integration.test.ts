import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPostgresStores, type PostgresStores } from '../testing/postgres-stores.js';
import { acme, acceptedCallAt, outcomeAt } from '../testing/sample-executions.js';
import { acceptedEntry } from './journal-entry.js';

let clock: FakeClock;
let stores: PostgresStores;

beforeEach(async () => {
  clock = new FakeClock();
  stores = await openPostgresStores(clock);
});
afterEach(() => stores.close());

const lost = { code: 'EXECUTION_HOME_LOST', status: 503, retryable: true };

describe('PostgresExecutionStore, when partitions change owners', () => {
  it('refuses all writes of a former owner, even if it does not know that it lost the partition', async () => {
    const { store: former } = await stores.open();
    const accepted = acceptedCallAt(clock.now());
    await former.accept([accepted]);
    const { store: owner, recovered } = await stores.takeOver();
    expect(recovered.unfinished).toMatchObject([{ accepted, attempts: 1 }]);
    await expect(former.accept([acceptedCallAt(clock.now())])).rejects.toMatchObject(lost);
    await expect(former.recordRetry(accepted, [], 1)).rejects.toMatchObject(lost);
    await expect(former.finish(accepted, outcomeAt(clock.now()))).rejects.toMatchObject(lost);
    await expect(former.finish(acceptedCallAt(clock.now()), outcomeAt(clock.now()))).rejects.toMatchObject(lost);
    await expect(former.recover([3])).rejects.toMatchObject(lost);
    expect(await stores.count('executions')).toBe(0);
    await owner.finish(accepted, outcomeAt(clock.now()));
    expect(await stores.count('execution_journal')).toBe(0);
    expect((await stores.takeOver()).recovered.unfinished).toEqual([]);
  });

  it('refuses writes to lost and unrecovered partitions without asking the database', async () => {
    const { store, tokens } = await stores.open();
    const accepted = acceptedCallAt(clock.now());
    await store.accept([accepted]);
    tokens.delete(3);
    await expect(store.accept([acceptedCallAt(clock.now())])).rejects.toMatchObject(lost);
    await expect(store.finish(accepted, outcomeAt(clock.now()))).rejects.toMatchObject(lost);
    tokens.set(3, 2);
    await expect(store.accept([acceptedCallAt(clock.now())])).rejects.toMatchObject(lost);
    await expect(store.finish(accepted, outcomeAt(clock.now()))).rejects.toMatchObject(lost);
  });

  it('writes the rest of a batch, and all or nothing of one call', async () => {
    const { store } = await stores.open();
    await stores.raiseTokens([4]);
    const [owned, moved, alsoOwned] = [3, 4, 5].map((partition) => acceptedCallAt(clock.now(), { partition }));
    if (!owned || !moved || !alsoOwned) return expect.unreachable();
    const mixed = [acceptedCallAt(clock.now(), { partition: 3 }), acceptedCallAt(clock.now(), { partition: 4 })];
    const accepted = await Promise.allSettled([
      store.accept([owned]),
      store.accept([moved]),
      store.accept(mixed),
      store.accept([alsoOwned]),
    ]);
    expect(accepted.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    const finished = await Promise.allSettled(
      [owned, moved, ...mixed].map((accepted) => store.finish(accepted, outcomeAt(clock.now()))),
    );
    expect(finished.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    const { recovered } = await stores.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([alsoOwned]);
  });

  it('waits for a write of the former owner that is under way, and recovers it', async () => {
    const { store: former } = await stores.open();
    const accepted = acceptedCallAt(clock.now());
    let commit = (): void => undefined;
    const mayCommit = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const writing = stores.database.transaction(async (tx) => {
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
      stores.database.query(
        `select from pg_locks join pg_database on pg_database.oid = database
         where locktype = 'advisory' and objid = 3 and granted = $1 and datname = current_database()`,
        [granted],
      );
    await eventually(async () => (await advisoryLocks(true)).length === 1);
    const taking = stores.takeOver();
    await eventually(async () => (await advisoryLocks(false)).length === 1);
    commit();
    await writing;
    expect((await taking).recovered.unfinished).toMatchObject([{ accepted }]);
    await expect(former.accept([acceptedCallAt(clock.now())])).rejects.toMatchObject(lost);
  });

  it('gives attempt numbers that grow from owner to owner', async () => {
    const { store } = await stores.open();
    const failure = { attempt: 2, startedAt: 1, finishedAt: 2, error: { code: 'POOL_ERROR', message: 'no' } };
    const [fresh, tried] = [acceptedCallAt(clock.now()), acceptedCallAt(clock.now())];
    await store.accept([fresh, tried]);
    await store.recordRetry(tried, [failure], 2);
    for (const [a, b] of [
      [1, 3],
      [2, 4],
      [3, 5],
    ]) {
      expect((await stores.takeOver()).recovered.unfinished).toEqual([
        { accepted: fresh, attempts: a, failures: [] },
        { accepted: tried, attempts: b, failures: [failure] },
      ]);
    }
    const { store: last } = await stores.takeOver();
    await last.recordRetry(tried, [failure, failure], 7);
    await last.finish(fresh, outcomeAt(clock.now()));
    await last.runMaintenance();
    expect((await stores.takeOver()).recovered.unfinished).toEqual([
      { accepted: tried, attempts: 8, failures: [failure, failure] },
    ]);
    expect(await stores.count('executions')).toBe(1);
    expect((await last.find(acme, fresh.executionId))?.outcome.status).toBe('success');
  });

  it('names the row that it cannot read', async () => {
    await stores.database.query(`insert into drover.execution_journal values (3, 1, 1, '{"id":"a","size":5}')`);
    await expect(stores.open()).rejects.toMatchObject({
      code: 'EXECUTION_JOURNAL_UNREADABLE',
      details: { partition: 3, token: 1, number: 1 },
    });
  });
});
