import { databaseMigrations } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bird, birds } from '../testing/event-bus-contract.js';
import { memberLockClass } from './bus-member.js';
import { eventBusMigrations } from './event-bus-migrations.js';
import { PostgresEventBus } from './postgres-event-bus.js';

const never = new AbortController().signal;
const patientMs = 60_000;
/** Notifications are lost, or a relay died: found only by these polls, which no test waits for. */
const pollMs = 600_000;

let test: TestDatabase;
const buses: PostgresEventBus[] = [];
beforeAll(async () => {
  test = await createTestDatabase([databaseMigrations, eventBusMigrations]);
});
afterAll(async () => {
  for (const bus of buses) await bus.stop();
  await test.drop();
});

async function openBus(): Promise<PostgresEventBus> {
  const bus = new PostgresEventBus({ database: await test.connect(), pollMs, ...quietIo, observe: () => undefined });
  buses.push(bus);
  await bus.start(never);
  return bus;
}

/** A member as PostgreSQL sees a process that was stopped by a signal: its session is there, and it answers nothing. */
async function frozenMember() {
  const connection = (await test.connect()).dedicatedConnection('subscribers of 1@frozen');
  await connection.start();
  await connection.query('select pg_advisory_lock($1, 7)', [memberLockClass]);
  return connection;
}

describe('the barrier of an installation', () => {
  it('needs no poll, also for events of several buses that were published one after the other', async () => {
    const [one, two] = [await openBus(), await openBus()];
    const seen: number[] = [];
    await two.subscribe({ topics: [birds], from: 'now', handle: ({ generation }) => void seen.push(generation) });
    for (let n = 1; n <= 20; n += 1) {
      await (n % 2 === 0 ? one : two).publish([bird('a', n)]);
      expect(await one.barrier({ withinMs: patientMs })).toEqual([]);
      expect(seen.at(-1)).toBe(n);
    }
  });

  it('names a member that does not answer, waits less for it the next time, and not for one that is gone', async () => {
    const one = await openBus();
    const frozen = await frozenMember();
    const named = ['test 1@frozen: no answer'];
    expect(await one.barrier({ withinMs: 700 })).toEqual(named);
    // Within the minutes that the first one would have taken, the test would fail.
    expect(await one.barrier({ withinMs: 600_000 })).toEqual(named);
    await frozen.stop();
    // PostgreSQL ends the session after the connection; until then the member is there, and silent.
    await eventually(async () => expect(await one.barrier({ withinMs: patientMs })).toEqual([]));
  });

  it('ignores what other programs notify on its channels, and goes on', async () => {
    const [one, two] = [await openBus(), await openBus()];
    const seen: number[] = [];
    await two.subscribe({ topics: [birds], from: 'now', handle: ({ generation }) => void seen.push(generation) });
    const database = await test.connect();
    const answerTo = 'elsewhere';
    const position = 1;
    for (const payload of [
      '',
      'no JSON',
      'null',
      '7',
      '[]',
      '{"id":1}',
      JSON.stringify({ id: 'x', answerTo, position }),
    ])
      await database.query(`select pg_notify('drover_barriers', $1)`, [payload]);
    await one.publish([bird('d', 7)]);
    expect(await one.barrier({ withinMs: patientMs })).toEqual([]);
    expect(seen).toEqual([7]);
  });

  it('does not wait for a bus that drains', async () => {
    const [one, two] = [await openBus(), await openBus()];
    two.onBarrier(() => new Promise(() => undefined));
    await two.drain(never);
    await one.publish([bird('b', 1)]);
    expect(await one.barrier({ withinMs: patientMs })).toEqual([]);
  });

  it('waits for a member whose session was cut and came back', async () => {
    await Promise.all(buses.splice(0).map((bus) => bus.stop())); // so that only the next two have sessions
    const [one, two] = [await openBus(), await openBus()];
    const seen: number[] = [];
    await two.subscribe({ topics: [birds], from: 'now', handle: ({ generation }) => void seen.push(generation) });
    const database = await test.connect();
    const sessions = `from pg_stat_activity where datname = current_database() and application_name like '%subscribers of%'`;
    const count = async (): Promise<number> => (await database.query(`select 1 ${sessions}`)).length;
    await eventually(async () => expect(await count()).toBe(2));
    const cut = await database.query<{ pid: number }>(`select pid, pg_terminate_backend(pid) ${sessions}`);
    await eventually(async () => {
      const back = await database.query(`select 1 ${sessions} and pid <> all ($1)`, [cut.map(({ pid }) => pid)]);
      expect(back).toHaveLength(2);
    });
    await one.publish([bird('c', 3)]);
    expect(await one.barrier({ withinMs: patientMs })).toEqual([]);
    expect(seen).toEqual([3]);
  });
});
