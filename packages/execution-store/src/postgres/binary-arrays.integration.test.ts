import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import type { Database } from '@drover/database';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BinaryArrays } from './binary-arrays.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  database = await test.connect();
});
afterAll(() => test.drop());

describe('BinaryArrays', () => {
  it('are read by PostgreSQL as they were written', async () => {
    const texts = ['', 'short', 'ü', 'x'.repeat(40), `${'x'.repeat(39)}ü`, '{"a":"\\",NULL}', '🦊'.repeat(100_000)];
    const numbers = [0, 1, -1, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1, -(2 ** 32) - 1];
    const times = [0, 1, 946_684_800_000, 946_684_799_999, 1_900_000_000_123, -1];
    const uuids = ['0190a1b2-c3d4-7e5f-8a6b-0c1d2e3f4a5b', 'FFFFFFFF-FFFF-7FFF-BFFF-FFFFFFFFFFFF'];
    const arrays = new BinaryArrays();
    for (let round = 0; round < 2; round += 1) {
      arrays.clear();
      arrays.begin('text', texts.length + 1);
      const sizes = texts.map((text) => arrays.text(text));
      arrays.text(undefined);
      arrays.begin('bigint', numbers.length);
      for (const number of numbers) arrays.bigint(number);
      arrays.begin('integer', 2);
      for (const number of [-7, 2 ** 31 - 1]) arrays.integer(number);
      arrays.begin('timestamptz', times.length);
      for (const time of times) arrays.timestamptz(time);
      arrays.begin('boolean', 2);
      for (const value of [true, false]) arrays.boolean(value);
      arrays.begin('uuid', uuids.length);
      for (const uuid of uuids) arrays.uuid(uuid);
      arrays.begin('text', 0);
      const [row] = await database.query(
        `select $1::text[] as texts, $2::bigint[]::text[] as numbers, $3::integer[] as integers, $4::timestamptz[] as times,
           $5::boolean[] as booleans, $6::uuid[]::text[] as uuids, $7::text[] as nothing`,
        arrays.values<readonly [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer, Buffer]>(7),
      );
      expect(sizes).toEqual(texts.map((text) => Buffer.byteLength(text)));
      expect(row).toEqual({
        texts: [...texts, null],
        numbers: numbers.map(String),
        integers: [-7, 2 ** 31 - 1],
        times: times.map((time) => new Date(time)),
        booleans: [true, false],
        uuids: uuids.map((uuid) => uuid.toLowerCase()),
        nothing: [],
      });
    }
  });
});
