import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../connection/database.js';
import type { DatabaseObservation } from '../observations.js';
import { createTestDatabase, quietIo, type TestDatabase } from '../testing/test-database.js';
import { migrate, schemaVersions, type Migrations } from './migrate.js';

let test: TestDatabase;
let database: Database;

beforeEach(async () => {
  test = await createTestDatabase();
  database = await test.connect();
});
afterEach(() => test.drop());

const first = { name: 'birds', sql: 'create table drover.birds (name text)' };
const second = { name: 'wings', sql: 'alter table drover.birds add wings int' };
const zoo = (...steps: Migrations['steps']): Migrations => ({ component: 'zoo', steps });
const io = { release: '1.2.3', clock: quietIo.clock, observe: quietIo.observe };

describe('migrate', () => {
  it('applies what is missing, in order, once', async () => {
    const seen: DatabaseObservation[] = [];
    const observing = { ...io, observe: (o: DatabaseObservation) => void seen.push(o) };
    await migrate(database, [zoo(first)], observing);
    await migrate(database, [zoo(first, second)], observing);
    await migrate(database, [zoo(first, second)], observing);
    expect(seen).toMatchObject([
      { number: 1, name: 'birds' },
      { number: 2, name: 'wings' },
    ]);
    expect(await schemaVersions(database)).toEqual({ zoo: 2 });
  });

  it('is done by exactly one of many that start together', async () => {
    await Promise.all(Array.from({ length: 6 }, () => migrate(database, [zoo(first, second)], io)));
    expect(await schemaVersions(database)).toEqual({ zoo: 2 });
  });

  it('leaves the database as it was when a step fails, and names step and reason', async () => {
    await migrate(database, [zoo(first)], io);
    const broken = { name: 'broken', sql: 'create table drover.fish (x int); select * from drover.nowhere' };
    await expect(migrate(database, [zoo(first, second, broken)], io)).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION_FAILED',
      message: expect.stringMatching(/Migration 3 \(broken\) of zoo failed and was rolled back: .*nowhere/),
    });
    expect(await schemaVersions(database)).toEqual({ zoo: 1 });
    expect(await database.query(`select to_regclass('drover.fish') as fish`)).toEqual([{ fish: null }]);
  });

  it('refuses a database that a newer release has changed, and names that release', async () => {
    await migrate(database, [zoo(first, second)], { ...io, release: '9.0.0' });
    await expect(migrate(database, [zoo(first)], io)).rejects.toMatchObject({
      code: 'DATABASE_SCHEMA_NEWER',
      message: expect.stringContaining('schema 2 of zoo, written by Drover 9.0.0; this version supports up to 1'),
    });
  });

  it('refuses when an applied step was edited afterwards, but not when it was only reformatted', async () => {
    await migrate(database, [zoo(first)], io);
    await migrate(database, [zoo({ ...first, sql: `\n  ${first.sql.replace(' (', '\n (')}\n` })], io);
    await expect(
      migrate(database, [zoo({ ...first, sql: 'create table drover.birds (id int)' })], io),
    ).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION_CHANGED',
    });
  });
});
