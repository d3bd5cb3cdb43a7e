import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { hasCode } from '@drover/contracts';
import { Secret, systemClock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DatabaseObservation } from '../observations.js';
import { createTestDatabase, quietIo, type TestDatabase } from '../testing/test-database.js';
import { patientLimits } from '../testing/test-server.js';
import { lockInTransaction } from './advisory-lock.js';
import { Database } from './database.js';
import { DatabaseProbe } from './database-probe.js';
import { Notifications } from './notifications.js';
import { prepared, type Queryable } from './statement.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  database = await test.connect();
  await database.query('create table counters (name text primary key, value bigint not null)');
});
afterAll(() => test.drop());

function unconnected(url: string): Database {
  return new Database({ url: new Secret(url), applicationName: 'test', ...quietIo });
}

describe('a session', () => {
  it('compiles no statements, whatever the server does by default, unless the URL says so', async () => {
    const owned = await createTestDatabase();
    try {
      const [row] = await (await owned.connect()).query<{ name: string }>('select current_database() as name');
      await (await owned.connect()).query(`alter database "${row?.name ?? ''}" set jit = on`);
      const jitOf = async (url: string): Promise<unknown> => {
        const sessions = unconnected(url);
        try {
          return (await sessions.query<{ jit: string }>('show jit'))[0]?.jit;
        } finally {
          await sessions.stop();
        }
      };
      const url = owned.url.reveal();
      const joint = url.includes('?') ? '&' : '?';
      expect(await jitOf(url)).toBe('off');
      expect(await jitOf(`${url}${joint}options=${encodeURIComponent('-c work_mem=8MB')}`)).toBe('off');
      expect(await jitOf(`${url}${joint}options=${encodeURIComponent('-c jit=on')}`)).toBe('on');
    } finally {
      await owned.drop();
    }
  });

  it('for one purpose waits at the start of a process for a server that is slow to answer', async () => {
    const { hostname, port, searchParams } = new URL(test.url.reveal());
    const directory = searchParams.get('host');
    const toServer = () =>
      directory === null ? connect(Number(port), hostname) : connect(`${directory}/.s.PGSQL.${port}`);
    let connections = 0;
    // Accepts the first connection and says nothing, as a server without a CPU does.
    const slow = createServer((socket) => {
      connections += 1;
      if (connections > 1) socket.pipe(toServer()).pipe(socket);
      socket.on('error', () => undefined);
    });
    await once(slow.listen(0, '127.0.0.1'), 'listening');
    const through = new URL(test.url.reveal());
    through.searchParams.delete('host');
    through.host = `127.0.0.1:${(slow.address() as AddressInfo).port}`;
    const limits = { ...patientLimits, connectTimeoutMs: 300 };
    const database = new Database({
      url: new Secret(through.href),
      applicationName: 'test',
      startWaitMs: 60_000,
      limits,
      ...quietIo,
    });
    const atOnce = database.dedicatedConnection('a request');
    await expect(atOnce.start()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    connections = 0;
    const patient = database.dedicatedConnection('a process');
    await patient.start(new AbortController().signal);
    expect(await patient.query('select 1 as one')).toEqual([{ one: 1 }]);
    await patient.stop();
    await database.stop();
    slow.close();
  });
});

describe('forgotten statements', () => {
  it('are dropped from every connection before its next use, and can be prepared again', async () => {
    const two = await test.connect({ poolSize: 2 });
    const names = [prepared('kept', 'select 1 as one'), prepared('to "forget"', 'select 2 as two')];
    const onBoth = <T>(use: (connection: Queryable) => Promise<T>): Promise<T[]> => {
      let arrived = 0;
      let go = (): void => undefined;
      const areBoth = new Promise<void>((resolve) => {
        go = resolve;
      });
      const whole = async (connection: Queryable): Promise<T> => {
        arrived += 1;
        if (arrived === 2) go();
        await areBoth;
        return use(connection);
      };
      return Promise.all([two.transaction(whole), two.transaction(whole)]);
    };
    const preparedOn = async (connection: Queryable): Promise<string[]> =>
      (await connection.query<{ name: string }>('select name from pg_prepared_statements order by name')).map(
        ({ name }) => name,
      );
    const use = async (connection: Queryable): Promise<void> => {
      for (const statement of names) await connection.query(statement);
    };
    await onBoth(use);
    expect(await onBoth(preparedOn)).toEqual([
      ['kept', 'to "forget"'],
      ['kept', 'to "forget"'],
    ]);
    two.forgetStatement('to "forget"');
    two.forgetStatement('never prepared');
    expect(await onBoth(preparedOn)).toEqual([['kept'], ['kept']]);
    await onBoth(use);
    expect(await onBoth(preparedOn)).toEqual([
      ['kept', 'to "forget"'],
      ['kept', 'to "forget"'],
    ]);
  });
});

describe('DatabaseProbe', () => {
  it('makes the server write a temporary file', async () => {
    const written = async (): Promise<number> => {
      const [row] = await database.query<{ bytes: string }>(
        'select temp_bytes as bytes from pg_stat_database where datname = current_database()',
      );
      return Number(row?.bytes);
    };
    const before = await written();
    const probe = new DatabaseProbe(database, systemClock);
    await probe.start();
    try {
      await eventually(async () => (await written()) - before > 1_000_000);
      expect(probe.problem()).toBeUndefined();
    } finally {
      await probe.stop();
    }
  });
});

async function refusal(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => expect.unreachable('it was accepted'),
    (error: unknown) => error,
  );
}

/** Answers every connection as a server does that recovers after a crash. */
async function recoveringServer(use: (url: string, connections: () => number) => Promise<void>): Promise<void> {
  let connections = 0;
  const fields = ['SFATAL', 'C57P03', 'Mthe database system is in recovery mode', '']
    .map((field) => `${field}\0`)
    .join('');
  const answer = Buffer.alloc(5);
  answer.write('E');
  answer.writeInt32BE(4 + fields.length, 1);
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([answer, Buffer.from(fields)])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    await use(`postgres://user:secret@127.0.0.1:${port}/x`, () => connections);
  } finally {
    server.close();
  }
}

describe('Database', () => {
  it('waits for a server that recovers until it is told to give up', () =>
    recoveringServer(async (url, connections) => {
      const seen: DatabaseObservation[] = [];
      const waiting = new Database({
        url: new Secret(url),
        applicationName: 'test',
        ...quietIo,
        startWaitMs: 0,
        observe: (observation) => void seen.push(observation),
      });
      const giveUp = new AbortController();
      const starting = waiting.start(giveUp.signal);
      starting.catch(() => undefined);
      await eventually(() => expect(connections()).toBeGreaterThan(3));
      expect(seen).toMatchObject([{ kind: 'database.awaited', reason: 'the database system is in recovery mode' }]);
      giveUp.abort(new Error('stopping'));
      await expect(starting).rejects.toThrow('stopping');
      await waiting.stop();
    }));

  it('reads 64-bit integers as numbers and refuses those that do not fit', async () => {
    expect(await database.query('select 42::bigint as small')).toEqual([{ small: 42 }]);
    await expect(database.query('select 9223372036854775807::bigint as large')).rejects.toThrow('does not fit');
    expect(await database.query('select 1 as still')).toEqual([{ still: 1 }]);
  });

  it('prepares a named statement once per connection', async () => {
    const statement = prepared('answer', 'select $1::int + 1 as answer');
    await database.transaction(async (tx) => {
      expect(await tx.query(statement, [41])).toEqual([{ answer: 42 }]);
      expect(await tx.query(statement, [1])).toEqual([{ answer: 2 }]);
      expect(
        await tx.query(
          `select calls from (select count(*)::int as calls from pg_prepared_statements where name = 'answer') s`,
        ),
      ).toEqual([{ calls: 1 }]);
    });
  });

  it('rolls back everything when the work fails, and runs what waits for the commit only after it', async () => {
    const log: string[] = [];
    const failing = database.transaction(async (tx) => {
      tx.afterCommit(() => log.push('never'));
      await tx.query(`insert into counters values ('rolled-back', 1)`);
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await database.query(`select * from counters where name = 'rolled-back'`)).toEqual([]);
    await database.transaction(async (tx) => {
      tx.afterCommit(() => log.push('after'));
      await tx.query('select 1');
      log.push('inside');
    });
    expect(log).toEqual(['inside', 'after']);
  });

  it('does not take a transaction for committed in which the error of a statement was ignored', async () => {
    const log: string[] = [];
    const careless = database.transaction(async (tx) => {
      tx.afterCommit(() => log.push('never'));
      await tx.query(`insert into counters values ('careless', 1)`);
      await tx.query('select 1 / 0').catch(() => undefined);
    });
    await expect(careless).rejects.toThrow('nothing was committed');
    expect(log).toEqual([]);
    expect(await database.query('select 1 as still')).toEqual([{ still: 1 }]);
  });

  it('runs a transaction again that lost against a concurrent one, so that no update gets lost', async () => {
    await database.query(`insert into counters values ('busy', 0)`);
    const retries: number[] = [];
    const observing = await test.connect({
      observe: (o) => {
        if (o.kind === 'database.transaction-retried') retries.push(o.attempt);
      },
    });
    const increment = (): Promise<void> =>
      observing.transaction(async (tx) => {
        const [row] = await tx.query<{ value: number }>(`select value from counters where name = 'busy'`);
        await tx.query(`update counters set value = $1 where name = 'busy'`, [(row?.value ?? 0) + 1]);
      }, 'serializable');
    await Promise.all(Array.from({ length: 8 }, increment));
    expect(await database.query(`select value from counters where name = 'busy'`)).toEqual([{ value: 8 }]);
    expect(retries.length).toBeGreaterThan(0);
  });

  it('gives up after ten conflicts with a coded, retryable error', async () => {
    const always = database.transaction(async (tx) => {
      await tx.query(`do $$ begin raise exception 'made up' using errcode = '40001'; end $$`);
    });
    expect(await refusal(always)).toMatchObject({ code: 'DATABASE_CONFLICT', retryable: true });
  });

  it('lets one transaction at a time into an advisory lock', async () => {
    let inside = 0;
    let most = 0;
    const alone = (): Promise<void> =>
      database.transaction(async (tx) => {
        await lockInTransaction(tx, 'the only one');
        most = Math.max(most, ++inside);
        await tx.query('select pg_sleep(0.005)');
        inside -= 1;
      });
    await Promise.all(Array.from({ length: 6 }, alone));
    expect(most).toBe(1);
  });

  it('goes on after the server dropped all its connections', async () => {
    const dropped = await test.connect();
    await Promise.all([dropped.query('select pg_sleep(0.01)'), dropped.query('select pg_sleep(0.01)')]);
    await database.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    await eventually(async () => expect(await dropped.query('select 1 as here')).toEqual([{ here: 1 }]));
  });

  it('cancels the statements of a caller that has left, and only those', async () => {
    const own = await test.connect();
    const caller = own.forCaller();
    const another = own.forCaller();
    const running = (): Promise<object[]> =>
      database.query(`select from pg_stat_activity where query like 'select pg_sleep(60%' and state = 'active'`);
    const cancelled = [
      caller.query('select pg_sleep(60)'),
      caller.transaction(async (tx) => {
        await tx.query(`insert into counters values ('left', 1)`);
        await tx.query('select pg_sleep(60.5)');
      }),
    ];
    const goesOn = another.query<{ n: number }>('select 1 as n from pg_sleep(0.2)');
    await eventually(async () => expect(await running()).toHaveLength(2));
    caller.cancel();
    // Both at once: one that is refused while the other is awaited would be an unhandled rejection.
    for (const error of await Promise.all(cancelled.map(refusal)))
      expect(hasCode(error, 'DATABASE_TIMEOUT')).toBe(true);
    expect(await goesOn).toEqual([{ n: 1 }]);
    await expect(caller.query('select 1')).rejects.toThrow('has left');
    await expect(caller.transaction(() => Promise.resolve())).rejects.toThrow('has left');
    expect(await own.query(`select value from counters where name = 'left'`)).toEqual([]);
    for (let n = 0; n < 20; n += 1) expect(await another.query('select 1 as n')).toEqual([{ n: 1 }]);
  });

  it('stops twice without complaint', async () => {
    const stopping = await test.connect();
    await stopping.stop();
    await expect(stopping.stop()).resolves.toBeUndefined();
  });
});

describe('a database that cannot be used', () => {
  it('reports that no server listens at the address', async () => {
    const error = await refusal(unconnected('postgres://u:p@127.0.0.1:1/x').start());
    expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true });
    expect(String(error)).toContain('127.0.0.1:1/x');
  });

  it('names the database that does not exist', async () => {
    const url = new URL(test.url.reveal());
    url.pathname = '/not_there';
    const error = await refusal(unconnected(url.href).start());
    expect(error).toMatchObject({ code: 'DATABASE_MISSING' });
    expect(String(error)).toContain('"not_there" does not exist');
  });

  it('names the user that is refused, and never the password', async () => {
    const url = new URL(test.url.reveal());
    url.username = 'stranger';
    url.password = 'hunter2';
    const error = await refusal(unconnected(url.href).start());
    expect(error).toMatchObject({ code: 'DATABASE_ACCESS_DENIED' });
    expect(String(error)).toContain('stranger');
    expect(JSON.stringify(error) + String(error)).not.toContain('hunter2');
  });

  it.each([
    ['nonsense', 'is not a URL'],
    ['mysql://u:p@h/x', 'begins with mysql://'],
    ['postgres://u:p@h', 'names no database'],
    ['postgres:///x', 'names no host'],
  ])('refuses %s without connecting', (url, problem) => {
    expect(() => unconnected(url)).toThrow(problem);
  });

  it('ends a statement that takes too long with a coded error', async () => {
    const limits = { ...patientLimits, statementTimeoutMs: 50 };
    const hasty = new Database({ url: test.url, applicationName: 'test', limits, ...quietIo });
    const error = await refusal(hasty.query('select pg_sleep(5)'));
    await hasty.stop();
    expect(hasCode(error, 'DATABASE_TIMEOUT')).toBe(true);
  });
});

describe('Notifications', () => {
  it('hears what others send, and calls every handler after a reconnect since it may have missed something', async () => {
    const notifications = new Notifications(database);
    const heard: (string | undefined)[] = [];
    const early = await notifications.listen('news', (payload) => heard.push(payload));
    await notifications.start();
    const late: (string | undefined)[] = [];
    await notifications.listen('weather', (payload) => late.push(payload));
    try {
      await database.query(`select pg_notify('news', 'first'), pg_notify('weather', 'rain')`);
      await eventually(() => expect([heard.at(-1), late.at(-1)]).toEqual(['first', 'rain']));
      const before = heard.length;
      await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'test notifications' and datname = current_database()`,
      );
      await eventually(() => expect(heard.slice(before)).toEqual([undefined]));
      await database.query(`select pg_notify('news', 'second'), pg_notify('weather', 'sun')`);
      await eventually(() => expect([heard.at(-1), late.at(-1)]).toEqual(['second', 'sun']));
      early();
      await database.query(`select pg_notify('news', 'third'), pg_notify('weather', 'snow')`);
      await eventually(() => expect(late.at(-1)).toBe('snow'));
      expect(heard.at(-1)).toBe('second');
    } finally {
      await notifications.stop();
    }
  });
});

describe('DedicatedConnection', () => {
  it('sends statements without waiting for the answers of earlier ones, and answers in order', async () => {
    const connection = database.dedicatedConnection('pipelining');
    await connection.start();
    try {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          connection.query<{ n: number }>(prepared('echo', 'select $1::int as n'), [n]),
        ),
      );
      expect(answers.map(([row]) => row?.n)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    } finally {
      await connection.stop();
    }
  });

  it('fails at once with a retryable error while it is away', async () => {
    const connection = database.dedicatedConnection('short-lived');
    await connection.start();
    await connection.stop();
    expect(await refusal(connection.query('select 1'))).toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      retryable: true,
    });
  });
});
