import { Database } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import type { Secret } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createOwnershipTables,
  type OpenedReplica,
  openReplica,
  type OpenReplicaOptions,
} from '@drover/ownership/testing';
import { allPartitions } from '@drover/ownership';
import { PostgresProxy } from './support/postgres-proxy.js';

let test: TestDatabase;
let admin: Database;
let proxies: PostgresProxy[];
let opened: (OpenedReplica & { readonly database: Database })[];

beforeEach(async () => {
  proxies = [];
  opened = [];
  test = await createTestDatabase();
  admin = await test.connect();
  await createOwnershipTables(admin);
});
afterEach(async () => {
  await Promise.all(opened.map(({ ownership }) => ownership.stop()));
  // A stop would wait for connections that get no answer.
  await Promise.all(proxies.map((proxy) => proxy.cut()));
  await Promise.all(opened.map(({ database }) => database.stop()));
  await Promise.all(proxies.map((proxy) => proxy.remove()));
  await test.drop();
});

async function openProxy(): Promise<PostgresProxy> {
  const proxy = await PostgresProxy.to(test.url);
  proxies.push(proxy);
  return proxy;
}

async function open(url: Secret, timings: OpenReplicaOptions['timings']): Promise<OpenedReplica> {
  const database = new Database({ url, applicationName: 'ownership', poolSize: 3, startWaitMs: 60_000, ...quietIo });
  await database.start();
  const one = { ...openReplica(database, { timings: { ...timings } }), database };
  opened.push(one);
  await one.start();
  return one;
}

const lossesOf = (...some: readonly OpenedReplica[]): readonly string[] =>
  some.flatMap(({ listener }) => listener.calls.filter((line) => line.startsWith('lost')));

async function tokens(): Promise<readonly number[]> {
  const found = await admin.query<{ token: number }>('select token from drover.execution_homes order by partition');
  return found.map(({ token }) => token);
}

describe('ownership during an outage of the database', () => {
  it('keeps its owners when the database is back in time', async () => {
    const proxy = await openProxy();
    const [one, two] = [await open(proxy.url, { ttlMs: 30_000 }), await open(proxy.url, { ttlMs: 30_000 })];
    await eventually(() => expect([one.owned().length, two.owned().length]).toEqual([8, 8]));
    const before = await tokens();
    await proxy.cut();
    const both = (kind: string): void => {
      for (const { seen } of [one, two]) expect(seen.some((observation) => observation.kind === kind)).toBe(true);
    };
    await eventually(() => both('ownership.poll-failed'));
    expect([one.owned().length, two.owned().length]).toEqual([8, 8]);
    await proxy.open();
    await eventually(() => both('ownership.poll-recovered'));
    expect([one.owned().length, two.owned().length]).toEqual([8, 8]);
    expect(lossesOf(one, two)).toEqual([]);
    expect(await tokens()).toEqual(before);
  });

  it('ends with the leases in a long outage, and is shared again afterwards with higher tokens', async () => {
    const proxy = await openProxy();
    const [one, two] = [await open(proxy.url, { ttlMs: 2_000 }), await open(proxy.url, { ttlMs: 2_000 })];
    await eventually(() => expect([one.owned().length, two.owned().length]).toEqual([8, 8]));
    const before = await tokens();
    await proxy.cut();
    await eventually(() => expect([...one.owned(), ...two.owned()]).toEqual([]));
    // A lease is over by the clock a moment before the timer of its end fires.
    await eventually(() => expect(lossesOf(one, two).length).toBe(2));
    expect(allPartitions.filter((partition) => one.ownership.tokenOf(partition) !== undefined)).toEqual([]);
    await proxy.open();
    await eventually(() => expect([one.owned().length, two.owned().length]).toEqual([8, 8]));
    for (const [partition, token] of (await tokens()).entries()) expect(token).toBeGreaterThan(before[partition] ?? 0);
  });

  it('is kept by a replica without others, however long the outage', async () => {
    const proxy = await openProxy();
    const one = await open(proxy.url, { ttlMs: 1_000 });
    await eventually(() => expect(one.owned()).toEqual(allPartitions));
    const before = await tokens();
    await proxy.cut();
    await eventually(() => expect(one.owned()).toEqual([]));
    expect([one.ownership.tokenOf(3), one.ownership.heldTokenOf(3)]).toEqual([undefined, 1]);
    await proxy.open();
    await eventually(() => expect(one.owned()).toEqual(allPartitions));
    expect([lossesOf(one), await tokens()]).toEqual([[], before]);
  });

  it('moves to the other replicas when one is cut off, which drops its partitions when its lease ends', async () => {
    const proxy = await openProxy();
    const [cut, other] = [await open(proxy.url, { ttlMs: 4_000 }), await open(test.url, { ttlMs: 4_000 })];
    await eventually(() => expect([cut.owned().length, other.owned().length]).toEqual([8, 8]));
    await proxy.cut();
    await eventually(() => expect(other.owned()).toEqual(allPartitions)); // its lock is free: no need to wait
    await eventually(() => expect(lossesOf(cut).length).toBe(1));
    expect(cut.owned()).toEqual([]);
    await proxy.open();
    await eventually(() => expect([cut.owned().length, other.owned().length]).toEqual([8, 8]));
    expect(lossesOf(other)).toEqual([]);
  });

  it('is shared again after the database kept every connection and answered on none', async () => {
    const proxy = await openProxy();
    const [silent, other] = [await open(proxy.url, { ttlMs: 2_000 }), await open(test.url, { ttlMs: 2_000 })];
    await eventually(() => expect([silent.owned().length, other.owned().length]).toEqual([8, 8]));
    proxy.silence();
    await eventually(() => expect(silent.owned()).toEqual([]));
    expect(silent.ownership.tokenOf(0)).toBeUndefined();
    // Its connections are open, so the other replica has to wait for the lease to expire.
    await eventually(() => expect(other.owned()).toEqual(allPartitions));
    await proxy.cut();
    await proxy.open();
    await eventually(() => expect([silent.owned().length, other.owned().length]).toEqual([8, 8]));
  });

  it('keeps its owners when the server closes all connections at once, again and again', async () => {
    const some = [await open(test.url, {}), await open(test.url, {}), await open(test.url, {})];
    const shares = (): number[] => some.map((each) => each.owned().length).toSorted((a, b) => a - b);
    await eventually(() => expect(shares()).toEqual([5, 5, 6]));
    const before = await tokens();
    for (let round = 0; round < 3; round += 1) {
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name like 'ownership%'`,
      );
      const present = async (): Promise<number> =>
        (
          await admin.query(`select 1 from pg_locks where locktype = 'advisory' and granted and objsubid = 1
             and database = (select oid from pg_database where datname = current_database())`)
        ).length;
      await eventually(async () => expect(await present()).toBe(3));
    }
    expect(shares()).toEqual([5, 5, 6]);
    expect(lossesOf(...some)).toEqual([]);
    expect(await tokens()).toEqual(before);
  });
});
