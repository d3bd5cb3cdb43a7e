import { Database } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import type { Secret } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  everyPartition,
  createOwnershipTables,
  type OpenedReplica,
  openReplica,
  type OpenReplicaOptions,
} from '@drover/ownership/testing';
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
  // Connections that hear nothing would be waited for.
  await Promise.all(proxies.map((proxy) => proxy.cut()));
  await Promise.all(opened.map(({ database }) => database.stop()));
  await Promise.all(proxies.map((proxy) => proxy.remove()));
  await test.drop();
});

async function wayOf(): Promise<PostgresProxy> {
  const proxy = await PostgresProxy.to(test.url);
  proxies.push(proxy);
  return proxy;
}

async function open(url: Secret, timings: OpenReplicaOptions['timings']): Promise<OpenedReplica> {
  const database = new Database({ url, applicationName: 'ownership', poolSize: 3, ...quietIo });
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

describe('ownership without their database', () => {
  it('stay where they are when it is back in time', async () => {
    const way = await wayOf();
    const [one, two] = [await open(way.url, { ttlMs: 30_000 }), await open(way.url, { ttlMs: 30_000 })];
    await eventually(() => expect([one.here().length, two.here().length]).toEqual([8, 8]));
    const before = await tokens();
    await way.cut();
    const both = (kind: string): void => {
      for (const { seen } of [one, two]) expect(seen.some((observation) => observation.kind === kind)).toBe(true);
    };
    await eventually(() => both('ownership.poll-failed'));
    expect([one.here().length, two.here().length]).toEqual([8, 8]);
    await way.open();
    await eventually(() => both('ownership.poll-recovered'), 20_000);
    expect([one.here().length, two.here().length]).toEqual([8, 8]);
    expect(lossesOf(one, two)).toEqual([]);
    expect(await tokens()).toEqual(before);
  });

  it('are nobody’s when it is away for too long, and are shared again afterwards with higher tokens', async () => {
    const way = await wayOf();
    const [one, two] = [await open(way.url, { ttlMs: 2_000 }), await open(way.url, { ttlMs: 2_000 })];
    await eventually(() => expect([one.here().length, two.here().length]).toEqual([8, 8]));
    const before = await tokens();
    await way.cut();
    await eventually(() => expect([...one.here(), ...two.here()]).toEqual([]), 5_000);
    expect(lossesOf(one, two).length).toBe(2);
    expect(everyPartition.filter((partition) => one.ownership.tokenOf(partition) !== undefined)).toEqual([]);
    await way.open();
    await eventually(() => expect([one.here().length, two.here().length]).toEqual([8, 8]), 20_000);
    for (const [partition, token] of (await tokens()).entries()) expect(token).toBeGreaterThan(before[partition] ?? 0);
  });

  it('go to the others when only one is cut off, which drops them when its time is over', async () => {
    const way = await wayOf();
    const [cut, other] = [await open(way.url, { ttlMs: 4_000 }), await open(test.url, { ttlMs: 4_000 })];
    await eventually(() => expect([cut.here().length, other.here().length]).toEqual([8, 8]));
    await way.cut();
    await eventually(() => expect(other.here()).toEqual(everyPartition)); // its lock is free: no need to wait
    await eventually(() => expect(lossesOf(cut).length).toBe(1), 5_000);
    expect(cut.here()).toEqual([]);
    await way.open();
    await eventually(() => expect([cut.here().length, other.here().length]).toEqual([8, 8]), 20_000);
    expect(lossesOf(other)).toEqual([]);
  });

  it('are found again after it kept every connection and answered on none', async () => {
    const way = await wayOf();
    const [silent, other] = [await open(way.url, { ttlMs: 2_000 }), await open(test.url, { ttlMs: 2_000 })];
    await eventually(() => expect([silent.here().length, other.here().length]).toEqual([8, 8]));
    way.silence();
    await eventually(() => expect(silent.here()).toEqual([]), 5_000);
    expect(silent.ownership.tokenOf(0)).toBeUndefined();
    // Seen from there it lives: its connections are open. So it has the whole time.
    await eventually(() => expect(other.here()).toEqual(everyPartition), 8_000);
    await way.cut();
    await way.open();
    await eventually(() => expect([silent.here().length, other.here().length]).toEqual([8, 8]), 20_000);
  });

  it('stay where they are when the server ends all connections at once, again and again', async () => {
    const some = [await open(test.url, {}), await open(test.url, {}), await open(test.url, {})];
    const shares = (): number[] => some.map((each) => each.here().length).toSorted((a, b) => a - b);
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
