import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../connection/database.js';
import { createTestDatabase, quietIo, type TestDatabase } from '../testing/test-database.js';
import { GroupCommit } from './group-commit.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  database = await test.connect();
  await database.query(
    'create table jobs (id bigint generated always as identity primary key, name text unique check (length(name) < 20))',
  );
});
afterAll(() => test.drop());

function ingest(
  batches: number[],
  limits: { maxItems?: number; maxWaitingItems?: number } = {},
): GroupCommit<string, number> {
  return new GroupCommit<string, number>({
    name: 'jobs',
    ...limits,
    clock: quietIo.clock,
    observe: (o) => {
      if (o.kind === 'database.rows-committed') batches.push(o.rows);
    },
    maxConcurrent: 2,
    async write(names) {
      const rows = await database.query<{ id: number }>(
        'insert into jobs (name) select name from unnest($1::text[]) with ordinality as row (name, n) order by n returning id',
        [names],
      );
      return rows.map((row) => row.id);
    },
  });
}

describe('GroupCommit', () => {
  it('writes the rows of many callers in few statements and gives each caller its own result', async () => {
    const batches: number[] = [];
    const jobs = ingest(batches);
    const names = Array.from({ length: 500 }, (_, n) => `many-${n}`);
    const ids = await Promise.all(names.map((name) => jobs.add(name)));
    const rows = await database.query<{ id: number; name: string }>(
      `select id, name from jobs where name like 'many-%'`,
    );
    expect(new Map(rows.map((row) => [row.name, row.id]))).toEqual(new Map(names.map((name, n) => [name, ids[n]])));
    expect(batches.length).toBeLessThan(10);
  });

  it('rejects only the rows that the server refuses, at any place in the batch', async () => {
    const jobs = ingest([]);
    await jobs.add('taken');
    const names = ['good-1', 'taken', 'good-2', 'a name that is much too long', 'good-3'];
    const outcomes = await Promise.allSettled(names.map((name) => jobs.add(name)));
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    const good = await database.query<{ count: number }>(`select count(*) as count from jobs where name like 'good-%'`);
    expect(good).toEqual([{ count: 3 }]);
  });

  it('rejects rows beyond the limit and accepts rows again once it has written', async () => {
    const jobs = ingest([], { maxItems: 2, maxWaitingItems: 5 });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => jobs.add(`bound-${n}`)));
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused).toHaveLength(3);
    expect(refused[0]?.reason).toMatchObject({ code: 'DATABASE_INGEST_FULL', retryable: true });
    await expect(jobs.add('bound-again')).resolves.toBeGreaterThan(0);
  });

  it('drains: resolves when every added row has its result', async () => {
    const jobs = ingest([]);
    const rows = Array.from({ length: 50 }, (_, n) => jobs.add(`drain-${n}`));
    await jobs.drain(new AbortController().signal);
    const unsettled = Symbol('unsettled');
    const states = await Promise.all(rows.map((row) => Promise.race([row, Promise.resolve(unsettled)])));
    expect(states).not.toContain(unsettled);
  });
});
