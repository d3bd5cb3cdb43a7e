import { storageModes, type CollectionDefinition } from '@drover/contracts';
import { createTestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { collectionTestSchema } from '../testing/index.js';
import { createRecords } from './create-records.js';
import { getRecord } from './get-record.js';
import { listRecords } from './list-records.js';
import { runOperations } from './run-operations.js';
import { replaceRecord, replaceRecords, updateRecord, updateRecords } from './update-records.js';
import { TestCollections } from './write.test.fixture.js';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let records: TestCollections;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  records = new TestCollections(await server.connect());
});
afterAll(() => server.drop());

const definition: CollectionDefinition = {
  name: 'orders',
  softDelete: true,
  fields: [
    { name: 'code', type: 'EXTERNAL_ID' },
    { name: 'serial', type: 'AUTO_NUMBER', autoNumber: { prefix: 'O-' } },
    { name: 'total', type: 'CURRENCY' },
    { name: 'placed', type: 'DATETIME' },
    { name: 'parent', type: 'LOOKUP', references: { collection: 'orders', as: 'children' } },
    { name: 'taxed', type: 'FORMULA', formula: { expression: 'total / 3', returns: 'DOUBLE' } },
    { name: 'later', type: 'FORMULA', formula: { expression: 'placed', returns: 'DATETIME' } },
    { name: 'day', type: 'FORMULA', formula: { expression: 'TODAY()', returns: 'DATE' } },
    { name: 'large', type: 'FORMULA', formula: { expression: 'total > 5', returns: 'BOOLEAN' } },
    {
      name: 'sum',
      type: 'ROLLUP_SUMMARY',
      rollup: { collection: 'orders', via: 'parent', function: 'SUM', field: 'total' },
    },
  ],
};

describe.each(storageModes)('a record that was read in %s', (storageMode) => {
  let order: CollectionModel;
  let id: string;
  beforeAll(async () => {
    order = await records.define({ ...definition, storageMode }, storageMode);
  });
  const read = async (shape: 'flat' | 'jsonapi' = 'flat') => (await records.call(getRecord, order, { id, shape })).json;
  let codes = 0;
  const create = async (): Promise<void> => {
    codes += 1;
    const body = { code: `c${codes}`, total: 10, placed: '2026-01-31T12:00:00.123Z' };
    ({ id } = await records.create(order, body));
    await records.create(order, { total: '12345678901234.56', parent: id });
  };

  it.each(['flat', 'jsonapi'] as const)('can be written back as it is, and with changes (%s)', async (shape) => {
    await create();
    for (const operation of [updateRecord, replaceRecord]) {
      const before = await read(shape);
      const answer = await records.call(operation, order, { id, shape, body: before });
      expect(answer).toMatchObject({ status: 200 });
      const now = await read();
      const change = shape === 'flat' ? { ...now, total: now.total + 1 } : { ...(await read(shape)) };
      if (shape === 'jsonapi') change.data.attributes.total += 1;
      expect(await records.call(operation, order, { id, shape, body: change })).toMatchObject({ status: 200 });
      expect((await read()).total).toBe(now.total + 1);
    }
    const list = await records.call(listRecords, order, { query: `filter[id][eq]=${id}` });
    expect(await records.call(updateRecords, order, { body: list.json.data })).toMatchObject({ status: 200 });
    const again = await records.call(listRecords, order, { query: `filter[id][eq]=${id}` });
    expect(await records.call(replaceRecords, order, { body: again.json.data })).toMatchObject({ status: 200 });
  });

  it('can be upserted and sent as an atomic operation', async () => {
    await create();
    const { id: _id, ...values } = await read();
    expect(await records.call(createRecords, order, { query: 'on_conflict=code', body: values })).toMatchObject({
      status: 200,
      json: { version: 2 },
    });
    const { data } = await read('jsonapi');
    const operate = (resource: unknown, meta?: object) =>
      records.callTenant(runOperations, storageMode, {
        body: { 'atomic:operations': [{ op: 'update', data: resource, ...(meta && { meta }) }] },
      });
    expect(await operate(data)).toMatchObject({ status: 200 });
    expect(await operate(data)).toMatchObject({ status: 412, json: { code: 'STALE_WRITE' } });
    const fresh = (await read('jsonapi')).data;
    expect(await operate(fresh, fresh.meta)).toMatchObject({ status: 200 });
    expect(await operate({ ...fresh, meta: { version: 4 } }, { version: 3 })).toMatchObject({
      problems: ['readOnly /atomic:operations/0/data/meta/version'],
    });
    const created = await records.call(createRecords, order, {
      query: 'on_conflict=code',
      body: { ...values, code: 'another' },
    });
    expect(created.status).toBe(400);
  });

  it('as JavaScript writes its times and numbers again', async () => {
    await create();
    const { version: _version, ...record } = await read();
    const times = ['createdAt', 'updatedAt', 'later'].map((name) => [name, new Date(record[name]).toISOString()]);
    const body = { ...record, ...Object.fromEntries(times) };
    expect(await records.call(updateRecord, order, { id, body })).toMatchObject({ status: 200 });
  });

  it('with other values of what the platform sets is refused, each with its place', async () => {
    await create();
    const before = await read();
    for (const [name, value] of Object.entries({
      createdAt: '2020-01-01T00:00:00Z',
      updatedAt: null,
      createdBy: 'someone',
      updatedBy: 5,
      deletedAt: '2020-01-01T00:00:00Z',
      serial: 'O-999',
      taxed: 3.4,
      later: '2026-01-31T12:00:00.124Z',
      day: '2020-01-01',
      large: false,
      sum: 1,
    })) {
      expect(await records.call(updateRecord, order, { id, body: { total: 20, [name]: value } })).toMatchObject({
        status: 400,
        problems: [`readOnly /${name}`],
      });
      expect(await records.call(updateRecords, order, { body: [{ id, [name]: value }] })).toMatchObject({
        status: 400,
        problems: [`readOnly /0/${name}`],
      });
    }
    for (const value of ['soon', 7, {}, '2026-01-31T12:00:00.123', true])
      expect(await records.call(updateRecord, order, { id, body: { createdAt: value } })).toMatchObject({
        problems: ['readOnly /createdAt'],
      });
    const query = `filter[id][eq]=${id}&max_affected=1`;
    const { createdAt, version } = before;
    expect(await records.call(updateRecords, order, { query, body: { createdAt, version } })).toMatchObject({
      problems: ['readOnly /createdAt', 'readOnly /version'],
    });
    expect(await records.call(createRecords, order, { body: { createdAt, version } })).toMatchObject({
      problems: ['readOnly /createdAt', 'readOnly /version'],
    });
    expect(await read()).toEqual(before);
  });

  it('is refused with 412 once it has another version, as with If-Match', async () => {
    await create();
    const [flat, resource] = [await read(), await read('jsonapi')];
    await records.call(updateRecord, order, { id, body: { total: 5 } });
    const stale = { status: 412, json: { code: 'STALE_WRITE' } };
    expect(await records.call(updateRecord, order, { id, body: flat })).toMatchObject(stale);
    expect(await records.call(replaceRecord, order, { id, body: { version: 1, total: 7 } })).toMatchObject(stale);
    expect(await records.call(updateRecord, order, { id, shape: 'jsonapi', body: resource })).toMatchObject(stale);
    const { id: _id, ...values } = flat;
    expect(await records.call(createRecords, order, { query: 'on_conflict=code', body: values })).toMatchObject(stale);
    const headers = { 'if-match': '"2"' };
    expect(await records.call(updateRecord, order, { id, headers, body: { version: 1 } })).toMatchObject({
      status: 400,
      problems: ['readOnly /version'],
    });
    expect(await records.call(updateRecord, order, { id, headers, body: { version: 2, total: 6 } })).toMatchObject({
      status: 200,
    });
    const gone = { id: '0190f3e0-0000-7000-8000-000000000000', body: { createdBy: 'key-1', version: 1 } };
    expect(await records.call(updateRecord, order, gone)).toMatchObject({ status: 404 });
    for (const version of [0, 1.5, '1', null])
      expect(await records.call(updateRecord, order, { id, body: { version } })).toMatchObject({
        problems: ['readOnly /version'],
      });
  });
});
