import { FakeClock } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../connection/database.js';
import { databaseMigrations } from '../migrations/database-migrations.js';
import { createTestDatabase, quietIo, type TestDatabase } from '../testing/test-database.js';
import { Leases, requireLease } from './leases.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase([databaseMigrations]);
  database = await test.connect();
});
afterAll(() => test.drop());

/** Makes the server believe that the time of a lease is over. */
const expire = (name: string): Promise<unknown> =>
  database.query(`update drover.leases set expires_at = clock_timestamp() - interval '1 second' where name = $1`, [
    name,
  ]);

const leasesOn = (clock = new FakeClock()): Leases => new Leases(database, { ...quietIo, clock });

describe('Leases', () => {
  it('gives one of many at once the lease', async () => {
    const leases = leasesOn();
    const tries = await Promise.all(Array.from({ length: 10 }, (_, n) => leases.tryAcquire('crowd', `h${n}`, 10_000)));
    expect(tries.filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it('hands over after release with a higher token', async () => {
    const leases = leasesOn();
    const first = await leases.tryAcquire('relay', 'a', 10_000);
    expect(await leases.tryAcquire('relay', 'b', 10_000)).toBeUndefined();
    await first?.release();
    expect(first?.signal.aborted).toBe(true);
    const second = await leases.tryAcquire('relay', 'b', 10_000);
    expect(second?.token).toBe((first?.token ?? 0) + 1);
    await second?.release();
  });

  it('tells a frozen holder by its own clock that the lease is lost, without asking anybody', async () => {
    const clock = new FakeClock();
    const cutOff = await test.connect();
    const lease = await new Leases(cutOff, { ...quietIo, clock }).tryAcquire('frozen', 'a', 10_000);
    await cutOff.stop();
    await clock.advance(9_999);
    expect(lease?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(lease?.signal.reason).toMatchObject({ code: 'DATABASE_LEASE_LOST' });
  });

  it('refuses a write of a former holder by its token', async () => {
    const leases = leasesOn();
    const old = await leases.tryAcquire('writer', 'a', 10_000);
    if (!old) return expect.unreachable();
    await database.transaction((tx) => requireLease(tx, old));
    await expire('writer');
    const current = await leases.tryAcquire('writer', 'b', 10_000);
    if (!current) return expect.unreachable();
    await expect(database.transaction((tx) => requireLease(tx, old))).rejects.toMatchObject({
      code: 'DATABASE_LEASE_LOST',
    });
    await database.transaction((tx) => requireLease(tx, current));
  });

  it('is renewed while it is held, and lost when somebody else took it meanwhile', async () => {
    const clock = new FakeClock();
    const leases = leasesOn(clock);
    const lease = await leases.tryAcquire('renewed', 'a', 9_000);
    const expiry = async (): Promise<unknown> =>
      (await database.query<{ at: Date }>(`select expires_at as at from drover.leases where name = 'renewed'`))[0]?.at;
    const before = await expiry();
    await clock.advance(3_000);
    await expect.poll(expiry).not.toEqual(before);
    await expire('renewed');
    await leases.tryAcquire('renewed', 'b', 9_000);
    await expect.poll(() => clock.pending).toBeGreaterThan(0);
    await clock.advance(3_000);
    await expect.poll(() => lease?.signal.aborted).toBe(true);
  });
});
