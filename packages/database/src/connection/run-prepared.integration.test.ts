import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.js';
import type { Database } from './database.js';
import { prepared, type Row, type Statement } from './statement.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  database = await test.connect({ poolSize: 2 }); // one connection, and one to wait with
});
afterAll(() => test.drop());

/** Runs a statement on one connection: first by the driver, then by its columns that are known. */
const twice = (statement: Statement, values: readonly unknown[]): Promise<Row[][]> =>
  database.transaction(async (tx) => [await tx.query(statement, values), await tx.query(statement, values)]);

describe('a prepared statement that runs again', () => {
  it('sends and returns the same as the driver', async () => {
    const echo = prepared(
      'echo',
      `select $1::text as text, $2::bigint as bigint, $3::double precision as double, $4::boolean as boolean, $5::text[] as texts,
        $6::uuid as nothing, $7::jsonb as document, $8::bytea as bytes, $9::timestamptz as time, $10::bigint[] as numbers,
        $11::text[][] as nested, $12::text as absent`,
    );
    const values = [
      'é "\\ 漢 \n',
      9_007_199_254_740_991n,
      -0.5,
      false,
      ['', 'NULL', null, 'a,b', '{"\\}', 'ü'],
      null,
      JSON.stringify({ a: ['1', 2] }),
      Buffer.from([0, 255]),
      new Date(1_700_000_000_123),
      [1, 2],
      [
        ['a', 'b"'],
        ['c', 'd'],
      ],
      undefined,
    ];
    // Bytes, dates and nested arrays are left to the driver: each kind of value once with and once without them.
    const withoutThese = values.map((value, index) => ([7, 8, 10].includes(index) ? null : value));
    for (const given of [values, withoutThese]) {
      const [first, second] = await twice(echo, given);
      expect(second).toEqual(first);
      expect(Object.keys(second?.[0] ?? {})).toEqual(Object.keys(first?.[0] ?? {}));
    }
    const [, second] = await twice(echo, withoutThese);
    expect(second).toEqual([
      expect.objectContaining({
        text: 'é "\\ 漢 \n',
        bigint: Number.MAX_SAFE_INTEGER,
        texts: ['', 'NULL', null, 'a,b', '{"\\}', 'ü'],
        absent: null,
      }),
    ]);
  });

  it('returns any number of rows, and none for a statement without a result', async () => {
    const series = prepared('series', 'select n, n::text as text from generate_series(1, $1::integer) as n');
    await twice(series, [1]);
    expect((await twice(series, [1_000])).map((rows) => rows.length)).toEqual([1_000, 1_000]);
    expect(await twice(series, [0])).toEqual([[], []]);
    await database.query('create table written (n integer)');
    const insert = prepared('insert', 'insert into written select generate_series(1, $1::integer)');
    expect(await twice(insert, [3])).toEqual([[], []]);
    expect(await database.query('select count(*) as count from written')).toEqual([{ count: 6 }]);
  });

  it('rejects with the error of the server, and runs again after it', async () => {
    const divide = prepared('divide', 'select 1 / $1::integer as result');
    await twice(divide, [1]);
    const two = [database.query(divide, [0]), database.query(divide, [0])];
    for (const failing of two) await expect(failing).rejects.toMatchObject({ code: '22012' });
    expect(await twice(divide, [1])).toEqual([[{ result: 1 }], [{ result: 1 }]]);
  });

  it('rejects for a value that the process cannot hold', async () => {
    const large = prepared('large', 'select $1::bigint as value');
    await twice(large, [1]);
    await expect(twice(large, ['9007199254740993'])).rejects.toThrow('does not fit');
    expect(await twice(large, [2])).toEqual([[{ value: 2 }], [{ value: 2 }]]);
  });

  it('returns the columns of the statement that has its name now', async () => {
    const one = await test.connect({ poolSize: 2 });
    const select = prepared('changing', 'select * from changing');
    await one.query('create table changing as select 1 as n');
    for (let run = 0; run < 4; run += 1) expect(await one.query(select)).toEqual([{ n: 1 }]);
    await one.query('alter table changing alter n type text');
    one.forgetStatement('changing');
    for (let run = 0; run < 4; run += 1) expect(await one.query(select)).toEqual([{ n: '1' }]);
  });

  it('fails once after its columns have changed, and then runs on another connection', async () => {
    const one = await test.connect({ poolSize: 2 });
    const select = prepared('widened', 'select * from widened');
    await one.query('create table widened as select 1 as n');
    for (let run = 0; run < 3; run += 1) expect(await one.query(select)).toEqual([{ n: 1 }]);
    await one.query('alter table widened add m integer');
    await expect(one.query(select)).rejects.toMatchObject({ code: '0A000' });
    for (let run = 0; run < 3; run += 1) expect(await one.query(select)).toEqual([{ n: 1, m: null }]);
  });
});
