import { storageModes, type CollectionDefinition, type StorageMode } from '@drover/contracts';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { createRecords } from '../operations/create-records.js';
import { listRecords } from '../operations/list-records.js';
import { TestCollections } from '../operations/write.test.fixture.js';
import { collectionTestSchema, testContext, testRequest } from '../testing/index.js';
import { exportRecordsWith } from './export-records.js';
import { importRecords } from './import-records.js';

let testDatabase: TestDatabase;
let collections: TestCollections;
beforeAll(async () => {
  testDatabase = await createTestDatabase(collectionTestSchema);
  collections = new TestCollections(await testDatabase.connect());
});
afterAll(() => testDatabase.drop());

const exportRecords = exportRecordsWith(listRecords);
const mediaTypes = { jsonl: 'application/x-ndjson', csv: 'text/csv' } as const;

async function textOf(body: unknown): Promise<string> {
  let text = '';
  for await (const part of body as AsyncIterable<string>) text += part;
  return text;
}

async function exported(collection: CollectionModel, format: keyof typeof mediaTypes): Promise<string> {
  const context = testContext({ tenantId: collection.tenantId });
  const request = testRequest({ query: `format=${format}` });
  return textOf((await exportRecords(context, collection, request, collections.dependencies)).body);
}

interface Report {
  readonly done: Readonly<Record<string, unknown>>;
  readonly rejected: readonly string[];
}

async function imported(
  collection: CollectionModel,
  format: keyof typeof mediaTypes,
  text: string,
  query = '',
): Promise<Report> {
  const context = testContext({ tenantId: collection.tenantId });
  const request = testRequest({ query, headers: { 'content-type': mediaTypes[format] }, body: Buffer.from(text) });
  const answer = await textOf((await importRecords(context, collection, request, collections.dependencies)).body);
  const lines = answer
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { kind: string; errors?: { code: string; source: { pointer: string } }[] });
  const errors = lines.flatMap((line) => (line.kind === 'rejected' ? (line.errors ?? []) : []));
  return {
    done: { ...lines.at(-1) },
    rejected: errors.map(({ code, source }) => `${code} ${source.pointer}`),
  };
}

const rowsOf = async (collection: CollectionModel): Promise<Record<string, unknown>[]> =>
  (await collections.call(listRecords, collection, { query: 'sort=id' })).json.data;

/** What a client has set, and the id. */
const valuesOf = (rows: readonly Record<string, unknown>[]): unknown[] =>
  rows.map(
    ({ version: _v, createdAt: _c, updatedAt: _u, createdBy: _b, updatedBy: _p, serial: _s, ...values }) => values,
  );

const definition = (name: string, storageMode: StorageMode): CollectionDefinition => ({
  name,
  storageMode,
  softDelete: true,
  fields: [
    { name: 'code', type: 'EXTERNAL_ID' },
    { name: 'serial', type: 'AUTO_NUMBER', autoNumber: { prefix: 'S-' } },
    { name: 'text', type: 'STRING' },
    { name: 'document', type: 'JSON' },
    { name: 'list', type: 'ARRAY' },
    { name: 'tags', type: 'MULTI_PICKLIST', values: ['a', 'b,c'] },
    { name: 'size', type: 'LONG' },
    { name: 'price', type: 'CURRENCY' },
    { name: 'ratio', type: 'DOUBLE' },
    { name: 'on', type: 'BOOLEAN' },
    { name: 'due', type: 'DATE' },
    { name: 'at', type: 'DATETIME' },
    { name: 'secret', type: 'ENCRYPTED' },
    { name: 'place', type: 'GEOLOCATION' },
    { name: 'follows', type: 'LOOKUP', references: { collection: name } },
    { name: 'double', type: 'FORMULA', formula: { expression: 'ratio * 2', returns: 'DOUBLE' } },
  ],
});

const full = {
  code: 'c,"1"',
  text: 'two\nlines, "quoted"',
  document: { a: ['5', 5, null, 'true'], b: 0.1 },
  list: ['1', 1, null, { x: [] }],
  tags: ['a', 'b,c'],
  size: '9223372036854775807',
  price: '1234567890123456.78',
  ratio: 0.1 + 0.2,
  on: false,
  due: '2026-01-31',
  at: '2026-01-31T12:00:00.123Z',
  secret: 'hush "5"',
  place: { latitude: 52.52, longitude: -13.4 },
};
const others = [
  {},
  { code: 'c2', text: '', document: '5', list: [], size: 9_007_199_254_740_992 / 2, on: true },
  { code: 'c3', text: ' padded ', document: 'true', tags: [], size: '-9007199254740994' },
  { code: 'c4', document: ['null'], price: 0 },
  { code: 'c5', document: 5, secret: '' },
];

describe.each(storageModes)('an export in %s', (storageMode) => {
  describe.each(['jsonl', 'csv'] as const)('as %s', (format) => {
    const name = `things-${format}`;
    let things: CollectionModel;
    let text: string;
    beforeAll(async () => {
      things = await collections.define(definition(name, storageMode), storageMode);
      const { id } = await collections.create(things, full);
      for (const each of others) await collections.create(things, { ...each, follows: id });
      text = await exported(things, format);
    });

    it('is imported into an empty collection with its ids, and is the same there', async () => {
      for (const query of ['', 'on_conflict=id']) {
        const tenantId = `empty ${storageMode} ${format} ${query}`;
        const copy = await collections.define(definition(name, storageMode), tenantId);
        expect(await imported(copy, format, text, query)).toMatchObject({
          done: { rows: 6, created: 6, updated: 0, rejected: 0 },
        });
        expect(valuesOf(await rowsOf(copy))).toEqual(valuesOf(await rowsOf(things)));
        const again = await exported(copy, format);
        expect(again.split('\n').length).toBe(text.split('\n').length);
      }
    });

    it('is imported into its own collection: with on_conflict=id it changes the records, without it doubles none', async () => {
      const before = await rowsOf(things);
      const { done, rejected } = await imported(things, format, text);
      expect(done).toMatchObject({ rows: 6, created: 0, rejected: 6 });
      expect(new Set(rejected.map((each) => each.split(' ')[0]))).toEqual(new Set(['UNIQUE_VIOLATION']));
      expect(rejected).toContain('UNIQUE_VIOLATION /id');
      expect(await rowsOf(things)).toEqual(before);
      expect(await imported(things, format, text, 'on_conflict=id')).toMatchObject({
        done: { rows: 6, created: 0, updated: 6, rejected: 0 },
      });
      const after = await rowsOf(things);
      expect(valuesOf(after)).toEqual(valuesOf(before));
      expect(after.map(({ serial }) => serial)).toEqual(before.map(({ serial }) => serial));
    });
  });

  it('whose rows have no id, or another kind of id, says so', async () => {
    const things = await collections.define(definition('mixed', storageMode), storageMode);
    const text = '{"code":"m1"}\n{"id":null,"code":"m2"}\n{"id":"7","code":"m3"}\n{"id":8,"code":"m4"}\n';
    expect(await imported(things, 'jsonl', text, 'on_conflict=id')).toMatchObject({
      done: { created: 2, rejected: 2 },
      rejected: ['type /id', 'type /id'],
    });
  });
});

describe.each(storageModes)('an import into %s', (storageMode) => {
  let customers: CollectionModel;
  let prices: CollectionModel;
  beforeAll(async () => {
    const tenantId = `import ${storageMode}`;
    customers = await collections.define(
      {
        name: 'customers',
        storageMode,
        softDelete: true,
        fields: [
          { name: 'code', type: 'EXTERNAL_ID' },
          { name: 'number', type: 'LONG', unique: true },
          { name: 'name', type: 'STRING' },
          { name: 'parent', type: 'LOOKUP', references: { collection: 'customers' } },
        ],
      },
      tenantId,
    );
    prices = await collections.define(
      {
        name: 'prices',
        storageMode,
        uniqueSets: [['product', 'since']],
        fields: [
          { name: 'product', type: 'STRING' },
          { name: 'since', type: 'DATE' },
          { name: 'amount', type: 'CURRENCY' },
          { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
        ],
      },
      tenantId,
    );
  });

  it('finds records by a unique set, in any order of its fields', async () => {
    const csv = 'product,since,amount\na,2026-01-01,1\na,2026-02-01,2\nb,2026-01-01,3\n';
    expect(await imported(prices, 'csv', csv, 'on_conflict=product,since')).toMatchObject({ done: { created: 3 } });
    const next = 'product,since,amount\na,2026-02-01,20\nc,2026-01-01,4\n,2026-01-01,5\n,2026-01-01,6\n';
    expect(await imported(prices, 'csv', next, 'on_conflict=since,product')).toMatchObject({
      done: { created: 3, updated: 1, rejected: 0 },
    });
    const body = [{ product: 'a', since: '2026-01-01', amount: 10 }];
    const query = 'on_conflict=product,since';
    const { status, json } = await collections.call(createRecords, prices, { query, body });
    expect([status, json.data[0].amount]).toEqual([200, 10]);
    expect(await collections.call(createRecords, prices, { query, body: [...body, ...body] })).toMatchObject({
      status: 409,
      problems: ['UNIQUE_VIOLATION /1/product'],
    });
    for (const refused of ['on_conflict=product', 'on_conflict=product,product', 'on_conflict=id'])
      expect(await collections.call(createRecords, prices, { query: refused, body })).toMatchObject({
        status: 400,
        problems: ['INVALID_PARAMETER on_conflict'],
      });
  });

  it('names the records that rows refer to by a unique field of them', async () => {
    const { data } = await collections.create(customers, [
      { code: 'C1', number: '9007199254740993' },
      { code: 'C2', number: 7 },
    ]);
    const [first, second] = data.map(({ id }: { id: string }) => id);
    const csv = 'product,customer.code\nx1,C1\nx2,C2\nx3,\nx4,C9\n';
    expect(await imported(prices, 'csv', csv)).toMatchObject({
      done: { created: 3, rejected: 1 },
      rejected: ['reference /customer.code'],
    });
    const jsonl = [
      { product: 'x5', customer: { number: 7 } },
      { product: 'x6', 'customer.number': '9007199254740993' },
      { product: 'x7', customer: { name: 'no key' } },
      { product: 'x8', customer: first, 'customer.code': 'C2' },
      { product: 'x9', 'customer.code': 5 },
    ];
    const lines = jsonl.map((each) => `${JSON.stringify(each)}\n`).join('');
    expect(await imported(prices, 'jsonl', lines)).toMatchObject({
      done: { created: 2, rejected: 3 },
      rejected: ['type /customer', 'reference /customer.code', 'reference /customer.code'],
    });
    const rows = await rowsOf(prices);
    const found = rows.filter(({ product }) => String(product).startsWith('x'));
    expect(Object.fromEntries(found.map(({ product, customer }) => [product, customer]))).toEqual({
      x1: first,
      x2: second,
      x3: null,
      x5: second,
      x6: first,
    });
    await expect(imported(prices, 'csv', 'product,customer.cod\nx,C1\n')).rejects.toMatchObject({
      code: 'IMPORT_COLUMN_UNKNOWN',
      details: { similar: 'customer.code' },
    });
  });

  it('lets rows refer to rows before and after them in the file', async () => {
    const csv = 'code,name,parent.code\nP1,one,P2\nP2,two,\nP3,three,P1\nP4,four,P9\n';
    expect(await imported(customers, 'csv', csv, 'on_conflict=code')).toMatchObject({
      done: { created: 3, rejected: 1 },
      rejected: ['reference /parent.code'],
    });
    const rows = (await rowsOf(customers)).filter(({ code }) => String(code).startsWith('P'));
    const nameOf = (id: unknown): unknown => rows.find((row) => row['id'] === id)?.['name'] ?? null;
    expect(Object.fromEntries(rows.map(({ code, parent }) => [code, nameOf(parent)]))).toEqual({
      P1: 'two',
      P2: null,
      P3: 'one',
    });
    expect(await imported(customers, 'csv', 'code,parent.code\nP2,P3\n', 'on_conflict=code')).toMatchObject({
      done: { updated: 1 },
    });
  });
});
