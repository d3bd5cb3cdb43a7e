import { databaseErrors, type Database } from '@drover/database';
import { systemClock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPostgresWorld, type PostgresWorld } from '../testing/postgres-world.js';
import { acme, acceptedCallAt, outcomeAt } from '../testing/sample-executions.js';

let world: PostgresWorld;

beforeEach(async () => {
  world = await openPostgresWorld(systemClock);
});
afterEach(() => world.close());

const now = (): number => systemClock.now();

/** A database whose next answer to a statement like this gets lost on the way, though the statement was carried out. */
function losesAnswers(database: Database): { readonly database: Database; readonly lose: (statement: RegExp) => void } {
  let next: RegExp | undefined;
  const lossy = new Proxy(database, {
    get(target, property) {
      if (property !== 'query') return Reflect.get(target, property, target) as unknown;
      return async (statement: Parameters<Database['query']>[0], values?: readonly unknown[]) => {
        const rows = await target.query(statement, values);
        if (!next?.test(typeof statement === 'string' ? statement : statement.text)) return rows;
        next = undefined;
        throw databaseErrors.databaseUnavailable({ server: 'test', reason: 'the answer got lost' });
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

describe('PostgresExecutionStore, when the database is in trouble', () => {
  it('refuses to accept while it is away, keeps what ended until it is back, and goes on', async () => {
    const { store } = await world.open();
    const [running, next] = [acceptedCallAt(now()), acceptedCallAt(now())];
    await store.accept([running]);
    await world.setAway(true);
    await expect(store.accept([next])).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true });
    let isDurable = false;
    const finishing = store.finish(running, outcomeAt(now())).then(() => {
      isDurable = true;
    });
    await expect(store.find(acme, running.executionId)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    await expect(store.accept([next])).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(isDurable).toBe(false);
    await world.setAway(false);
    await finishing;
    await eventually(() => store.accept([next]).then(() => true));
    const { recovered } = await world.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([next]);
    expect((await store.find(acme, running.executionId))?.outcome.status).toBe('success');
  });

  it('gives up what ended when another replica is the home, or when it has to stop', async () => {
    const { store, tokens } = await world.open();
    const [lost, stopped] = [acceptedCallAt(now()), acceptedCallAt(now(), { partition: 4 })];
    await store.accept([lost, stopped]);
    await world.setAway(true);
    const finishing = [store.finish(lost, outcomeAt(now())), store.finish(stopped, outcomeAt(now()))];
    tokens.delete(3);
    await expect(finishing[0]).rejects.toMatchObject({ code: 'EXECUTION_HOME_LOST' });
    await store.stop();
    await expect(finishing[1]).rejects.toMatchObject({ code: 'EXECUTION_STORE_STOPPED' });
    const late = store.accept([acceptedCallAt(now(), { partition: 4 })]);
    await expect(late).rejects.toMatchObject({ code: 'EXECUTION_STORE_STOPPED' });
    await world.setAway(false);
    await eventually(() => world.database.query('select 1').then(() => true));
    const { recovered } = await world.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([lost, stopped]);
  });

  it('makes void what it was not told that it was accepted', async () => {
    const { database, lose } = losesAnswers(world.database);
    const { store } = await world.open({ database });
    const [refused, accepted] = [acceptedCallAt(now()), acceptedCallAt(now())];
    lose(/append_to_execution_journal/);
    await expect(store.accept([refused])).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(await world.count('execution_journal')).toBe(1);
    await store.accept([accepted]);
    const { recovered } = await world.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([accepted]);
  });

  it('makes void what comes to light later', async () => {
    const { store } = await world.open({
      database: new Proxy(world.database, {
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
    await store.keepUp();
    const [row] = await world.database.query<{ number: number }>(
      'select number, entries from drover.execution_journal',
    );
    expect(row).toMatchObject({ entries: '' });
    const late = world.database.query(
      `select drover.append_to_execution_journal('{3}', '{1}', '{1}', array[$1::bigint], '{late}')`,
      [row?.number],
    );
    await expect(late).rejects.toMatchObject({ code: '23505' });
    await world.takeOver().then(({ store: next }) => next.keepUp());
    expect(await world.count('execution_journal')).toBe(0);
  });

  it('writes an end once though the first answer got lost', async () => {
    const { database, lose } = losesAnswers(world.database);
    const { store } = await world.open({ database });
    const accepted = acceptedCallAt(now());
    await store.accept([accepted]);
    lose(/archive_executions/);
    await store.finish(accepted, outcomeAt(now()));
    expect(await world.count('executions')).toBe(1);
    expect(await world.count('execution_journal')).toBe(0);
    const [sum] = await world.database.query('select sum(bytes)::float8 as bytes from drover.execution_bytes');
    expect(sum).toEqual({ bytes: '{"n":1}{"ok":true}'.length });
  });

  it('marks a result once that is to be delivered, though the first answer got lost', async () => {
    const { database, lose } = losesAnswers(world.database);
    const { store } = await world.open({ database });
    const accepted = acceptedCallAt(now(), { callbackUrl: 'https://example.org/' });
    await store.accept([accepted]);
    lose(/archive_executions_with_callbacks/);
    await Promise.all([1, 2].map(() => store.finish(accepted, outcomeAt(now()))));
    expect(await world.count('executions')).toBe(1);
    expect(await store.callbackMarks.list([3], undefined, 10)).toMatchObject([{ executionId: accepted.executionId }]);
    lose(/remove_execution_callbacks/);
    await store.callbackMarks.remove(accepted);
    expect(await store.callbackMarks.list([3], undefined, 10)).toEqual([]);
  });

  it('rewrites the journal though the first answer got lost, whatever ended meanwhile', async () => {
    const { database, lose } = losesAnswers(world.database);
    const { store } = await world.open({ database });
    const [first, second, third] = [acceptedCallAt(now()), acceptedCallAt(now()), acceptedCallAt(now())];
    await store.accept([first, second, third]);
    const { store: home } = await world.takeOver({ database });
    await home.finish(first, outcomeAt(now()));
    const { store: next } = await world.takeOver({ database });
    lose(/rewrite_execution_journal/);
    await next.keepUp();
    await next.finish(second, outcomeAt(now()));
    await next.keepUp();
    const { recovered, store: last } = await world.takeOver({ database });
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([third]);
    await last.finish(third, outcomeAt(now()));
    await last.keepUp();
    expect(await world.count('execution_journal')).toBe(0);
  });

  it('lets a bad row harm nobody but its own caller', async () => {
    const { store } = await world.open();
    // Not JSON: it has a NUL as it is, which PostgreSQL has no place for.
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
    const { recovered } = await world.takeOver();
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([good[2]]);
    expect(await world.count('executions')).toBe(7);
  });
});
