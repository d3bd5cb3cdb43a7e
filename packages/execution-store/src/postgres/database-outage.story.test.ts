import { databaseErrors, type Database } from '@drover/database';
import { systemClock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPostgresStores, type PostgresStores } from '../testing/postgres-stores.js';
import { acme, acceptedCallAt, outcomeAt } from '../testing/sample-executions.js';

let stores: PostgresStores;

beforeEach(async () => {
  stores = await openPostgresStores(systemClock);
});
afterEach(() => stores.close());

const now = (): number => systemClock.now();

/** A database that loses the next answer to a matching statement, after it was executed. */
function losesAnswers(database: Database): { readonly database: Database; readonly lose: (statement: RegExp) => void } {
  let next: RegExp | undefined;
  const lossy = new Proxy(database, {
    get(target, property) {
      if (property !== 'query') return Reflect.get(target, property, target) as unknown;
      return async (statement: Parameters<Database['query']>[0], values?: readonly unknown[]) => {
        const rows = await target.query(statement, values);
        if (!next?.test(typeof statement === 'string' ? statement : statement.text)) return rows;
        next = undefined;
        throw databaseErrors.databaseUnavailable({ server: 'test', reason: 'the answer was lost' });
      };
    },
  });
  return {
    database: lossy,
    lose(statement) {
      next = statement;
    },
  };
}

describe('PostgresExecutionStore, when the database fails', () => {
  it('refuses to accept while it is unavailable, writes ends once it is available again, and continues', async () => {
    const { store } = await stores.open();
    const [running, next] = [acceptedCallAt(now()), acceptedCallAt(now())];
    await store.accept([running]);
    await stores.setUnavailable(true);
    await expect(store.accept([next])).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true });
    let isDurable = false;
    const finishing = store.finish(running, outcomeAt(now())).then(() => {
      isDurable = true;
    });
    await expect(store.find(acme, running.executionId)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    await expect(store.accept([next])).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(isDurable).toBe(false);
    await stores.setUnavailable(false);
    await finishing;
    await eventually(() => store.accept([next]).then(() => true));
    const { recovered } = await stores.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([next]);
    expect((await store.find(acme, running.executionId))?.outcome.status).toBe('success');
  });

  it('gives up ends when it lost the partition, or when it stops', async () => {
    const { store, tokens } = await stores.open();
    const [lost, stopped] = [acceptedCallAt(now()), acceptedCallAt(now(), { partition: 4 })];
    await store.accept([lost, stopped]);
    await stores.setUnavailable(true);
    const finishing = [store.finish(lost, outcomeAt(now())), store.finish(stopped, outcomeAt(now()))];
    tokens.delete(3);
    await expect(finishing[0]).rejects.toMatchObject({ code: 'EXECUTION_HOME_LOST' });
    await store.stop();
    await expect(finishing[1]).rejects.toMatchObject({ code: 'EXECUTION_STORE_STOPPED' });
    const late = store.accept([acceptedCallAt(now(), { partition: 4 })]);
    await expect(late).rejects.toMatchObject({ code: 'EXECUTION_STORE_STOPPED' });
    await stores.setUnavailable(false);
    await eventually(() => stores.database.query('select 1').then(() => true));
    const { recovered } = await stores.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([lost, stopped]);
  });

  it('makes rows void whose write was not confirmed', async () => {
    const { database, lose } = losesAnswers(stores.database);
    const { store } = await stores.open({ database });
    const [refused, accepted] = [acceptedCallAt(now()), acceptedCallAt(now())];
    lose(/append_to_execution_journal/);
    await expect(store.accept([refused])).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(await stores.count('execution_journal')).toBe(1);
    await store.accept([accepted]);
    const { recovered } = await stores.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([accepted]);
  });

  it('makes rows void that would be written later', async () => {
    const { store } = await stores.open({
      database: new Proxy(stores.database, {
        get: (target, property) =>
          property === 'query'
            ? (...args: Parameters<Database['query']>) =>
                JSON.stringify(args[0]).includes('append_to_execution_journal')
                  ? Promise.reject(databaseErrors.databaseUnavailable({ server: 'test', reason: 'cut off' }))
                  : target.query(...args)
            : (Reflect.get(target, property, target) as unknown),
      }),
    });
    await expect(store.accept([acceptedCallAt(now())])).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    await store.runMaintenance();
    const [row] = await stores.database.query<{ number: number }>(
      'select number, entries from drover.execution_journal',
    );
    expect(row).toMatchObject({ entries: '' });
    const late = stores.database.query(
      `select drover.append_to_execution_journal('{3}', '{1}', '{1}', array[$1::bigint], '{late}')`,
      [row?.number],
    );
    await expect(late).rejects.toMatchObject({ code: '23505' });
    await stores.takeOver().then(({ store: next }) => next.runMaintenance());
    expect(await stores.count('execution_journal')).toBe(0);
  });

  it('writes an end once although the first answer was lost', async () => {
    const { database, lose } = losesAnswers(stores.database);
    const { store } = await stores.open({ database });
    const accepted = acceptedCallAt(now());
    await store.accept([accepted]);
    lose(/archive_executions/);
    await store.finish(accepted, outcomeAt(now()));
    expect(await stores.count('executions')).toBe(1);
    expect(await stores.count('execution_journal')).toBe(0);
    const [sum] = await stores.database.query('select sum(bytes)::float8 as bytes from drover.execution_bytes');
    expect(sum).toEqual({ bytes: '{"n":1}{"ok":true}'.length });
  });

  it('adds a pending callback once although the first answer was lost', async () => {
    const { database, lose } = losesAnswers(stores.database);
    const { store } = await stores.open({ database });
    const accepted = acceptedCallAt(now(), { callbackUrl: 'https://example.org/' });
    await store.accept([accepted]);
    lose(/archive_executions_with_callbacks/);
    await Promise.all([1, 2].map(() => store.finish(accepted, outcomeAt(now()))));
    expect(await stores.count('executions')).toBe(1);
    expect(await store.pendingCallbacks.list([3], undefined, 10)).toMatchObject([
      { executionId: accepted.executionId },
    ]);
    lose(/remove_execution_callbacks/);
    await store.pendingCallbacks.remove(accepted);
    expect(await store.pendingCallbacks.list([3], undefined, 10)).toEqual([]);
  });

  it('compacts the journal although the first answer was lost and executions ended meanwhile', async () => {
    const { database, lose } = losesAnswers(stores.database);
    const { store } = await stores.open({ database });
    const [first, second, third] = [acceptedCallAt(now()), acceptedCallAt(now()), acceptedCallAt(now())];
    await store.accept([first, second, third]);
    const { store: owner } = await stores.takeOver({ database });
    await owner.finish(first, outcomeAt(now()));
    const { store: next } = await stores.takeOver({ database });
    lose(/rewrite_execution_journal/);
    await next.runMaintenance();
    await next.finish(second, outcomeAt(now()));
    await next.runMaintenance();
    const { recovered, store: last } = await stores.takeOver({ database });
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([third]);
    await last.finish(third, outcomeAt(now()));
    await last.runMaintenance();
    expect(await stores.count('execution_journal')).toBe(0);
  });

  it('rejects a bad row without affecting other callers', async () => {
    const { store } = await stores.open();
    // Not JSON: it contains a raw NUL, which PostgreSQL cannot store.
    const bad = '"\u0000"';
    const calls = Array.from({ length: 9 }, (_, n) => acceptedCallAt(now(), n === 5 ? { json: bad } : {}));
    const accepted = await Promise.allSettled(calls.map((accepted) => store.accept([accepted])));
    expect(accepted.map(({ status }) => status === 'rejected')).toEqual(calls.map((_, n) => n === 5));
    const good = calls.filter((_, n) => n !== 5);
    const finished = await Promise.allSettled(
      good.map((accepted, n) => store.finish(accepted, outcomeAt(now(), n === 2 ? { json: bad } : {}))),
    );
    expect(finished.map(({ status }) => status === 'rejected')).toEqual(good.map((_, n) => n === 2));
    await store.finish(calls[5] ?? acceptedCallAt(0), outcomeAt(now())).catch(() => undefined);
    const { recovered } = await stores.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([good[2]]);
    expect(await stores.count('executions')).toBe(7);
  });
});
