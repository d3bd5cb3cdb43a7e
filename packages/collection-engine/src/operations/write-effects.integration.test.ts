import { storageModes } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase } from '@drover/database/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { collectionTestSchema } from '../testing/index.js';
import { aggregateRecords } from './aggregate-records.js';
import { createRecords } from './create-records.js';
import { deleteRecord, deleteRecords } from './delete-records.js';
import { getRecord } from './get-record.js';
import { getRecordVersion, listRecordVersions } from './record-versions.js';
import { restoreRecord, restoreRecordVersion } from './restore-records.js';
import { runOperations } from './run-operations.js';
import { updateRecord, updateRecords } from './update-records.js';
import { defineAll, missingId, TestCollections } from './write.test.fixture.js';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let records: TestCollections;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect();
  records = new TestCollections(database);
});
afterAll(() => server.drop());

describe.each(storageModes)('effects of writes in %s', (storageMode) => {
  let all: Awaited<ReturnType<typeof defineAll>>;
  beforeAll(async () => {
    all = await defineAll(records, storageMode);
  });

  const operate = (operations: unknown, headers: Record<string, string> = {}) =>
    records.callTenant(runOperations, storageMode, { body: { 'atomic:operations': operations }, headers });

  it('deletes details with their master, clears lookups, and writes the events of all', async () => {
    const { customer, order, line } = all;
    const { id: customerId } = await records.create(customer, { name: 'Kim' });
    const { id: orderId } = await records.create(order, { title: 'd', customer: customerId });
    const { id: lineId } = await records.create(line, { order: orderId, amount: 1 });
    const { id: later } = await records.create(order, { title: 'e', follows: orderId });
    expect(await records.call(deleteRecord, order, { id: orderId })).toMatchObject({ status: 204 });
    expect(await records.eventsOf(orderId)).toMatchObject([
      {},
      { kind: 'deleted', version: 2, before: { title: 'd' }, after: null },
    ]);
    expect(await records.eventsOf(lineId)).toMatchObject([
      {},
      { kind: 'deleted', version: 2, before: { amount: 1 }, after: null },
    ]);
    expect(await records.eventsOf(later)).toMatchObject([
      {},
      { kind: 'updated', before: { follows: orderId }, after: { follows: null } },
    ]);
    expect(await records.call(deleteRecord, order, { id: orderId })).toMatchObject({ status: 404 });
    expect(await records.call(updateRecord, line, { id: lineId, body: { amount: 2 } })).toMatchObject({ status: 404 });
  });

  it('refuses to delete what a required lookup needs', async () => {
    const { customer, guard } = all;
    const { id } = await records.create(customer, { name: 'Lea' });
    await records.create(guard, { watched: id });
    expect(await records.call(deleteRecord, customer, { id })).toMatchObject({
      status: 409,
      problems: ['REFERENCED_RECORD'],
    });
    expect(await records.eventsOf(id)).toHaveLength(1);
  });

  it('leaves no reference to a record that is deleted at the same time', async () => {
    const { order, line } = all;
    const outcomes = await Promise.all(
      Array.from({ length: 15 }, async () => {
        const { id } = await records.create(order, { title: 'race' });
        const [created] = await Promise.all([
          records.call(createRecords, line, { body: { order: id, amount: 1 } }),
          records.call(deleteRecord, order, { id }),
        ]);
        if (created.status !== 201) return [created.status];
        return (await records.eventsOf(created.json.id)).map(({ kind }) => kind);
      }),
    );
    for (const outcome of outcomes) expect([[400], ['created', 'deleted']]).toContainEqual(outcome);
  });

  it('runs operations on several collections, with local ids, all or none', async () => {
    const { order } = all;
    const { id: old } = await records.create(order, { title: 'old' });
    const operations = [
      { op: 'add', data: { type: 'customers', lid: 'c', attributes: { name: 'Tom' } } },
      { op: 'add', data: { type: 'customers', attributes: { name: 'Tim' } } },
      {
        op: 'add',
        data: {
          type: 'orders',
          lid: 'o',
          attributes: { title: 'new' },
          relationships: { customer: { data: { type: 'customers', lid: 'c' } } },
        },
      },
      { op: 'update', ref: { type: 'orders', lid: 'o' }, data: { type: 'orders', attributes: { title: 'newer' } } },
      { op: 'remove', ref: { type: 'orders', id: old } },
    ];
    const { status, json } = await operate(operations);
    expect(status).toBe(200);
    const [tom, tim, added, updated, removed] = json['atomic:results'];
    expect([tom.data.attributes.name, tim.data.attributes.name, removed]).toEqual(['Tom', 'Tim', {}]);
    expect(added.data.relationships.customer.data.id).toBe(tom.data.id);
    expect(updated.data).toMatchObject({ id: added.data.id, attributes: { title: 'newer' }, meta: { version: 2 } });
    const events = 'select count(*) as count from drover.record_events';
    const [before] = await database.query<{ count: number }>(events);
    const again = await operate(operations);
    expect(again).toMatchObject({ status: 404, problems: ['RECORD_NOT_FOUND'] });
    const bad = [
      { op: 'add', data: { type: 'orders', attributes: { title: 'x' } } },
      {
        op: 'add',
        data: { type: 'orders', relationships: { customer: { data: { type: 'customers', id: missingId } } } },
      },
    ];
    expect(await operate(bad)).toMatchObject({
      status: 400,
      problems: ['reference /atomic:operations/1/data/relationships/customer'],
    });
    expect(await database.query(events)).toEqual([before]);
    expect(await operate([{ op: 'upsert' }, { op: 'remove', ref: { type: 'orders' } }])).toMatchObject({
      problems: [
        'INVALID_PAYLOAD /atomic:operations/0/op',
        'INVALID_PAYLOAD /atomic:operations/0/data/type',
        'INVALID_PAYLOAD /atomic:operations/0/ref',
        'INVALID_PAYLOAD /atomic:operations/1/ref',
      ],
    });
    // Beyond the limit, operations are not even read.
    expect(await operate(Array.from({ length: 501 }, () => 0))).toMatchObject({
      status: 400,
      problems: ['RECORD_LIMIT_EXCEEDED'],
    });
    expect((await operate(Array.from({ length: 500 }, () => 0))).problems).toHaveLength(100);
  });

  it('shows no record to a key that may write but not read', async () => {
    const { order } = all;
    const { id } = await records.create(order, { title: 'hidden' });
    const access = { mayRead: () => false, mayWrite: () => true };
    const changed = await records.call(updateRecord, order, { id, body: {}, access });
    expect(changed).toMatchObject({ status: 204, headers: { etag: '"2"' }, json: undefined });
    const created = await records.call(createRecords, order, { body: { title: 'x' }, access });
    expect(created).toMatchObject({
      status: 201,
      headers: { location: expect.stringContaining('/') },
      json: undefined,
    });
    const operations = [{ op: 'update', data: { type: 'orders', id, attributes: {} } }];
    const body = { 'atomic:operations': operations };
    const updated = await records.callTenant(runOperations, storageMode, { body, access });
    expect(updated).toMatchObject({ status: 200, json: { 'atomic:results': [{}] } });
    expect(JSON.stringify(updated.json)).not.toContain('hidden');
  });

  it('changes and deletes by filter, at most max_affected', async () => {
    const { order } = all;
    const made = Array.from({ length: 5 }, (_, at) => ({ title: `f${at % 2}`, customer: null }));
    await records.create(order, made);
    const query = 'filter[title][eq]=f0&max_affected=3';
    const changed = await records.call(updateRecords, order, { query, body: { title: 'f2' } });
    expect(changed).toMatchObject({ status: 200, json: { meta: { affected: 3 } } });
    expect(
      await records.call(updateRecords, order, {
        query: 'filter[title][eq]=f2&max_affected=3',
        body: { customer: missingId },
      }),
    ).toMatchObject({
      problems: ['reference /customer'],
    });
    const tooMany = 'filter[title][in]=f1,f2&max_affected=4';
    for (const operation of [updateRecords, deleteRecords]) {
      const body = operation === updateRecords ? { title: 'f3' } : undefined;
      expect(await records.call(operation, order, { query: tooMany, body })).toMatchObject({
        status: 409,
        problems: ['TOO_MANY_AFFECTED'],
      });
      expect(await records.call(operation, order, { query: 'max_affected=1e1', body })).toMatchObject({
        problems: ['INVALID_PARAMETER max_affected', 'INVALID_PARAMETER filter'],
      });
      expect(await records.call(operation, order, { query: 'filter[titel][eq]=1&max_affected=2', body })).toMatchObject(
        {
          status: 400,
        },
      );
      const unreadable = 'filter[title][regex]=(&max_affected=2';
      expect(await records.call(operation, order, { query: unreadable, body })).toMatchObject({ status: 400 });
    }
    const both = 'filter[title][in]=f1,f2&max_affected=5';
    expect(await records.call(deleteRecords, order, { query: both })).toMatchObject({
      json: { meta: { affected: 5 } },
    });
    expect(await records.call(deleteRecords, order, { query: both })).toMatchObject({
      json: { meta: { affected: 0 } },
    });
  });

  it('changes and deletes the records of an array, all or none', async () => {
    const { order } = all;
    const { data } = await records.create(order, [{ title: 'g0' }, { title: 'g1' }]);
    const [one, two] = data;
    const body = [
      { id: two.id, title: 'g2' },
      { id: one.id, follows: two.id },
    ];
    expect((await records.call(updateRecords, order, { body })).json.data).toMatchObject([
      { id: two.id, title: 'g2', follows: null },
      { id: one.id, title: 'g0', follows: two.id },
    ]);
    expect(await records.call(deleteRecords, order, { body: [one.id, missingId] })).toMatchObject({ status: 404 });
    expect(await records.call(deleteRecords, order, { body: [one.id, two.id] })).toMatchObject({ status: 204 });
    expect(await records.eventsOf(one.id)).toHaveLength(3);
  });

  it('writes children of a record under its path only', async () => {
    const { order, line } = all;
    const { id: mine } = await records.create(order, { title: 'parent' });
    const { id: other } = await records.create(order, { title: 'other' });
    const field = line.fields.get('order');
    if (!field) throw new Error('the field exists');
    const under = (id: string) => ({ parent: { collection: order, id, field } });
    const { json, status } = await records.call(createRecords, line, { ...under(mine), body: { amount: 5 } });
    expect([status, json.order]).toEqual([201, mine]);
    expect(await records.call(createRecords, line, { ...under(mine), body: { order: other } })).toMatchObject({
      problems: ['INVALID_PAYLOAD /order'],
    });
    const { id } = json;
    expect(await records.call(updateRecord, line, { ...under(other), id, body: { amount: 6 } })).toMatchObject({
      status: 404,
    });
    expect(await records.call(deleteRecord, line, { ...under(other), id })).toMatchObject({ status: 404 });
    expect(await records.call(updateRecord, line, { ...under(mine), id, body: { amount: 6 } })).toMatchObject({
      status: 200,
    });
    for (const absent of [missingId, 'x']) {
      const named = { status: 404, json: { code: 'RECORD_NOT_FOUND', message: expect.stringContaining(absent) } };
      const where = { ...under(absent), query: 'filter[amount][gte]=0&max_affected=5' };
      expect(await records.call(createRecords, line, { ...under(absent), body: { amount: 1 } })).toMatchObject(named);
      expect(await records.call(updateRecords, line, { ...where, body: { amount: 1 } })).toMatchObject(named);
      expect(await records.call(deleteRecords, line, where)).toMatchObject(named);
      expect(await records.call(aggregateRecords, line, { ...under(absent), query: 'agg[*]=count' })).toMatchObject(
        named,
      );
      expect(await records.call(deleteRecord, line, { ...under(absent), id })).toMatchObject({ status: 404 });
    }
    const none = { ...under(other), query: 'filter[amount][gte]=0&max_affected=5' };
    expect(await records.call(deleteRecords, line, none)).toMatchObject({
      status: 200,
      json: { meta: { affected: 0 } },
    });
    expect(await records.call(deleteRecord, line, { ...under(mine), id })).toMatchObject({ status: 204 });
  });

  it('restores a deleted record with the details of the same deletion', async () => {
    const { customer, folder, page } = all;
    const { id } = await records.create(folder, { name: 'top' });
    const { id: inner } = await records.create(page, { folder: id, title: 'a' });
    const { id: earlier } = await records.create(page, { folder: id, title: 'b' });
    await records.call(deleteRecord, page, { id: earlier });
    await records.call(deleteRecord, folder, { id });
    expect(await records.call(restoreRecord, page, { id: inner })).toMatchObject({
      status: 400,
      problems: ['reference /data/attributes/folder'],
    });
    const stale = await records.call(restoreRecord, folder, { id, headers: { 'if-match': '"1"' } });
    expect(stale).toMatchObject({ status: 412, problems: ['STALE_WRITE'] });
    const restored = await records.call(restoreRecord, folder, { id, headers: { 'if-match': '"2"' } });
    expect(restored).toMatchObject({ status: 200, headers: { etag: '"3"' }, json: { name: 'top', deletedAt: null } });
    const kinds = async (of: string) => (await records.eventsOf(of)).map(({ kind }) => kind);
    expect(await kinds(inner)).toEqual(['created', 'deleted', 'restored']);
    expect(await kinds(earlier)).toEqual(['created', 'deleted']);
    expect(await records.call(restoreRecord, folder, { id })).toMatchObject({ status: 404 });
    expect(await records.call(restoreRecord, customer, { id })).toMatchObject({ problems: ['SOFT_DELETE_OFF'] });
    await records.call(deleteRecord, folder, { id });
    await records.create(folder, { name: 'top' });
    expect(await records.call(restoreRecord, folder, { id })).toMatchObject({
      status: 409,
      problems: ['UNIQUE_VIOLATION '],
    });
  });

  it('keeps versions of records, and restores one with every digit', async () => {
    const { order, page } = all;
    const { id } = await records.create(page, { title: 'v1', secret: 'hush', price: '1234567890123456.78' });
    await records.call(updateRecord, page, { id, body: { title: 'v2', secret: null, price: 1 } });
    const list = await records.call(listRecordVersions, page, { id, query: 'limit=1' });
    expect(list.json).toMatchObject({
      data: [{ version: 2, kind: 'updated', actor: 'key-1', record: { title: 'v2', secret: null } }],
      links: { next: '/api/test?limit=1&before=2' },
      meta: { hasMore: true },
    });
    const older = await records.call(listRecordVersions, page, { id, query: 'before=2' });
    expect(older.json).toMatchObject({ data: [{ version: 1, record: { secret: 'hush' } }], meta: { hasMore: false } });
    const stale = { id, version: '1', headers: { 'if-match': '"1"' } };
    expect(await records.call(restoreRecordVersion, page, stale)).toMatchObject({ status: 412 });
    const restored = await records.call(restoreRecordVersion, page, { id, version: '1' });
    expect(restored).toMatchObject({ status: 200, json: { title: 'v1', secret: 'hush', version: 3 } });
    const [event] = await database.query<{ price: string }>(
      `select after ->> 'price' as price from drover.record_events where record_id = $1 order by id desc limit 1`,
      [id],
    );
    expect(event?.price).toBe('1234567890123456.78');
    expect(await records.call(getRecordVersion, page, { id, version: '2' })).toMatchObject({
      json: { record: { title: 'v2' } },
    });
    for (const version of ['9', 'x', '99999999999999999999']) {
      expect(await records.call(restoreRecordVersion, page, { id, version })).toMatchObject({
        problems: ['RECORD_VERSION_UNKNOWN'],
      });
    }
    expect(await records.call(listRecordVersions, order, { id })).toMatchObject({ problems: ['HISTORY_OFF'] });
  });

  it('runs operations with an idempotency key once', async () => {
    const operations = [
      { op: 'add', data: { type: 'pages', attributes: { title: 'once', secret: 'hush' } } },
      { op: 'add', data: { type: 'folders', attributes: { name: 'once' } } },
    ];
    const headers = { 'idempotency-key': `operations-${storageMode}` };
    const answers = await Promise.all(Array.from({ length: 4 }, () => operate(operations, headers)));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]?.json['atomic:results'][0].data.attributes.secret).toBe('hush');
    const [stored] = await database.query<{ answer: string }>(
      'select answer from drover.record_idempotency_keys where key = $1',
      [headers['idempotency-key']],
    );
    expect(stored?.answer).not.toContain('hush');
    expect(await operate(operations.slice(1), headers)).toMatchObject({ status: 422 });
  });

  it('refuses what exceeds a limit or cannot be stored, and names it', async () => {
    const { customer } = all;
    const deep = `{"name":"x","meta":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(await records.call(createRecords, customer, { body: deep })).toMatchObject({
      problems: ['RECORD_LIMIT_EXCEEDED'],
    });
    const many = Array.from({ length: 10_001 }, () => ({}));
    expect(await records.call(createRecords, customer, { body: many })).toMatchObject({
      problems: ['RECORD_LIMIT_EXCEEDED'],
    });
    expect(
      await operate(Array.from({ length: 501 }, () => ({ op: 'remove', ref: { type: 'orders', id: missingId } }))),
    ).toMatchObject({
      problems: ['RECORD_LIMIT_EXCEEDED'],
    });
    for (const body of [
      '',
      '{',
      '"x"',
      'null',
      '[null]',
      '{"data":[{}],"x":1}',
      '{"name":"a\\u0000b"}',
      '{"__proto__":{"a":1}}',
    ]) {
      const { status } = await records.call(createRecords, customer, { body });
      expect([body, status]).toEqual([body, 400]);
    }
  });

  it('runs operations on the same records in any order without a deadlock', async () => {
    const { order, folder } = all;
    const { id: a } = await records.create(order, { title: 'a' });
    const { id: b } = await records.create(folder, { name: `deadlock ${storageMode}` });
    const first = {
      op: 'update',
      ref: { type: 'orders', id: a },
      data: { type: 'orders', attributes: { title: 'c' } },
    };
    const second = { op: 'update', ref: { type: 'folders', id: b }, data: { type: 'folders' } };
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, at) => operate(at % 2 ? [first, second] : [second, first])),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 200));
    expect((await records.eventsOf(b)).map(({ version }) => version)).toEqual(
      Array.from({ length: 17 }, (_, at) => at + 1),
    );
  });

  it('reaches no record with another tenant, and no operation that is denied or switched off', async () => {
    const { order } = all;
    const { id } = await records.create(order, { title: 'mine' });
    const stranger = { ...order, tenantId: 'stranger' };
    expect(await records.call(updateRecord, stranger, { id, body: { title: 'x' } })).toMatchObject({ status: 404 });
    expect(await records.call(deleteRecord, stranger, { id })).toMatchObject({ status: 404 });
    expect(await records.call(updateRecords, stranger, { body: [{ id, title: 'x' }] })).toMatchObject({ status: 404 });
    const readOnly = { mayRead: () => true, mayWrite: () => false };
    const off = { ...order, api: { ...order.api, create: false, update: false, delete: false } };
    for (const operation of [createRecords, updateRecord, deleteRecord]) {
      expect(await records.call(operation, order, { id, body: {}, access: readOnly })).toMatchObject({ status: 403 });
      expect(await records.call(operation, off, { id, body: {} })).toMatchObject({ status: 405 });
    }
    const onlyOrders = { mayRead: () => true, mayWrite: ({ name }: CollectionModel) => name === 'orders' };
    expect(await records.call(deleteRecord, order, { id, access: onlyOrders })).toMatchObject({ status: 403 });
    expect(await records.eventsOf(id)).toHaveLength(1);
  });

  it('plans statements over ids once per connection, however few ids the first ones have', async () => {
    const oneConnection = await server.connect({ poolSize: 1 });
    const planned = new TestCollections(oneConnection);
    const note = await planned.define(
      { name: 'notes', storageMode, fields: [{ name: 'record', type: 'STRING' }] },
      `planned ${storageMode}`,
    );
    const rows: { id: string }[] = (
      await planned.create(
        note,
        Array.from({ length: 2_000 }, () => ({ record: 'a' })),
      )
    ).data;
    await oneConnection.query('analyze');
    // Makes pages as expensive as those of a large table, where fewer ids promise a cheaper plan.
    await oneConnection.query('set random_page_cost = 400');
    await oneConnection.query('set seq_page_cost = 400');
    for (let round = 0; round < 8; round += 1) {
      const [first, second, third, fourth] = rows.slice(round * 4).map(({ id }) => id);
      // The first two are read alone, the others together.
      const gets = [first, second, third, fourth].map((id) => planned.call(getRecord, note, { id }));
      expect((await Promise.all(gets)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const body = [first, second].map((id) => ({ id, record: 'b' }));
      expect(await planned.call(updateRecords, note, { body })).toMatchObject({ status: 200 });
      expect(await planned.call(deleteRecord, note, { id: third })).toMatchObject({ status: 204 });
    }
    const statements = await oneConnection.query<{ text: string; custom: number; generic: number }>(
      'select statement as text, custom_plans as custom, generic_plans as generic from pg_prepared_statements',
    );
    const tried = 5; // PostgreSQL compares that many plans with the one for all values
    const used = statements.filter(({ custom, generic }) => custom + generic > tried);
    expect(used.length).toBeGreaterThanOrEqual(3);
    expect(used.filter(({ custom }) => custom > tried)).toEqual([]);
    expect(await planned.eventsOf(rows[0]?.id ?? '')).toMatchObject([
      { after: { record: 'a' } },
      { before: { record: 'a', version: 1 }, after: { record: 'b', version: 2 } },
    ]);
  });

  it('answers any body with a record or a problem', async () => {
    const { customer } = all;
    const names = [...customer.fields.keys(), 'id', 'data', 'attributes', 'constructor'];
    const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.constant('2026-01-31'));
    const value = fc.oneof(fc.jsonValue(), scalar, fc.constant({ toString: {} }));
    const record = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 5 });
    const body = fc.oneof(fc.jsonValue(), record, fc.array(record, { maxLength: 3 }), fc.record({ data: record }));
    const { id } = await records.create(customer, { name: 'fuzz' });
    const expected = [200, 201, 400, 409];
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        const created = await records.call(createRecords, customer, { body: given });
        const updated = await records.call(updateRecord, customer, { id, body: given });
        expect(expected).toContain(created.status);
        expect(expected).toContain(updated.status);
      }),
      { numRuns: 25 },
    );
  });
});
