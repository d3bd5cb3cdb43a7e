import type { Database } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OwnershipTable } from './ownership-table.js';
import { LivenessLock } from './liveness-lock.js';
import { createOwnershipTables } from './testing/open-replica.js';

let test: TestDatabase;
let database: Database;
let lock: LivenessLock;
let woken: number;
let returned: number;

beforeEach(async () => {
  test = await createTestDatabase();
  database = await test.connect();
  await createOwnershipTables(database);
  [woken, returned] = [0, 0];
  lock = new LivenessLock({
    database,
    replicaId: 'me',
    answerWithinMs: 2_000, // a busy server takes its time for the other statements
    onChanged: () => (woken += 1),
    onReconnected: () => (returned += 1),
    ...quietIo,
  });
  await lock.start();
});
afterEach(async () => {
  await lock.stop();
  await test.drop();
});

const backend = async (): Promise<number> =>
  (await lock.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid ?? 0;

async function isSeen(): Promise<boolean> {
  const table = new OwnershipTable(database, 'other');
  return (await table.read()).replicas.some(({ id, present }) => id === 'me' && present);
}

describe('LivenessLock', () => {
  it('is seen by other replicas from its start to its end, and receives notifications', async () => {
    await new OwnershipTable(lock, 'me').join('http://me.test', 60_000);
    expect(await isSeen()).toBe(true);
    await eventually(() => expect(woken).toBe(2)); // the start, and the join
    await lock.stop();
    expect(await isSeen()).toBe(false);
  });

  it('reconnects when its connection was closed, and reports that', async () => {
    await new OwnershipTable(lock, 'me').join('http://me.test', 60_000);
    const first = await backend();
    await database.query('select pg_terminate_backend($1)', [first]);
    await eventually(async () => {
      expect(returned).toBe(1);
      expect(await backend()).not.toBe(first);
      expect(await isSeen()).toBe(true);
    });
  });

  it('sends through the pool while it has no connection', async () => {
    await lock.stop();
    expect(lock.isHeld).toBe(false);
    expect(await backend()).toBeGreaterThan(0);
  });

  it('replaces a connection that does not answer, without waiting for it', async () => {
    await new OwnershipTable(lock, 'me').join('http://me.test', 60_000);
    const first = await backend();
    // A connection behind which everything is stuck, as behind a network that swallows all.
    await expect(lock.query('select pg_sleep(60)')).rejects.toThrow('no answer within 2000 ms');
    await eventually(async () => {
      expect(lock.isHeld).toBe(true);
      expect(await backend()).not.toBe(first);
    });
    expect(returned).toBe(1);
    expect(await isSeen()).toBe(true);
  });
});
