import type { Database } from '@drover/database';
import { createTestDatabase } from '@drover/database/testing';
import { storageModes, type CollectionDefinition } from '@drover/contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { collectionTestSchema } from '../testing/index.js';
import { createRecords } from './create-records.js';
import { deleteRecord, deleteRecords } from './delete-records.js';
import { getRecordVersion, listRecordVersions } from './record-versions.js';
import { restoreRecord, restoreRecordVersion } from './restore-records.js';
import { runOperations } from './run-operations.js';
import { replaceRecord, replaceRecords, updateRecord, updateRecords } from './update-records.js';
import { TestCollections } from './write.test.fixture.js';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let records: TestCollections;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect();
  records = new TestCollections(database);
});
afterAll(() => server.drop());

const customers: CollectionDefinition = {
  name: 'customers',
  fields: [
    { name: 'name', type: 'STRING', required: true, constraints: { maxLength: 20 } },
    { name: 'email', type: 'EMAIL', unique: true },
    { name: 'code', type: 'EXTERNAL_ID', immutable: true },
    { name: 'level', type: 'PICKLIST', values: ['gold', 'silver'], default: 'silver' },
    { name: 'number', type: 'AUTO_NUMBER', autoNumber: { prefix: 'C-', digits: 4 } },
    { name: 'secret', type: 'ENCRYPTED' },
    { name: 'born', type: 'DATE' },
    { name: 'seen', type: 'DATETIME' },
    { name: 'tags', type: 'MULTI_PICKLIST', values: ['a', 'b'] },
    { name: 'meta', type: 'JSON' },
    { name: 'credit', type: 'CURRENCY' },
    { name: 'order', type: 'LONG' },
  ],
};
const orders: CollectionDefinition = {
  name: 'orders',
  fields: [
    { name: 'title', type: 'STRING' },
    { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
    { name: 'follows', type: 'LOOKUP', references: { collection: 'orders' } },
  ],
};
const lines: CollectionDefinition = {
  name: 'lines',
  softDelete: true,
  fields: [
    { name: 'order', type: 'MASTER_DETAIL', references: { collection: 'orders' } },
    { name: 'amount', type: 'INTEGER' },
  ],
};
const guards: CollectionDefinition = {
  name: 'guards',
  fields: [{ name: 'watched', type: 'LOOKUP', required: true, references: { collection: 'customers' } }],
};

const folders: CollectionDefinition = {
  name: 'folders',
  softDelete: true,
  fields: [{ name: 'name', type: 'STRING', unique: true }],
};
const pages: CollectionDefinition = {
  name: 'pages',
  softDelete: true,
  history: true,
  fields: [
    { name: 'folder', type: 'MASTER_DETAIL', required: false, references: { collection: 'folders' } },
    { name: 'title', type: 'STRING' },
    { name: 'secret', type: 'ENCRYPTED' },
    { name: 'price', type: 'CURRENCY' },
  ],
};

const missingId = '0190f3e0-0000-7000-8000-000000000000';

describe.each(storageModes)('writes of records in %s', (storageMode) => {
  let customer: CollectionModel;
  let order: CollectionModel;
  let line: CollectionModel;
  let guard: CollectionModel;
  let folder: CollectionModel;
  let page: CollectionModel;
  beforeAll(async () => {
    customer = await records.define({ ...customers, storageMode }, storageMode);
    order = await records.define({ ...orders, storageMode }, storageMode);
    line = await records.define({ ...lines, storageMode }, storageMode);
    guard = await records.define({ ...guards, storageMode }, storageMode);
    folder = await records.define({ ...folders, storageMode }, storageMode);
    page = await records.define({ ...pages, storageMode }, storageMode);
  });

  const eventsOf = (id: string) =>
    database.query<{ kind: string; version: number; before: object | null; after: object | null }>(
      'select kind, version, before, after from drover.record_events where record_id = $1 order by id',
      [id],
    );
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of any shape
  const create = async (collection: CollectionModel, body: unknown): Promise<any> => {
    const answer = await records.call(createRecords, collection, { body });
    expect([answer.status, answer.json]).toEqual([201, expect.anything()]);
    return answer.json;
  };

  it('creates a record with all kinds of values, defaults and an auto number, and its event', async () => {
    const body = {
      name: 'Ada',
      email: 'ada@example.com',
      secret: 'hush',
      born: '1815-12-10',
      seen: '2026-01-01T01:00:00+01:00',
      tags: ['a'],
      meta: { a: [1, null] },
      credit: 12.5,
      order: 7,
    };
    const { status, headers, json } = await records.call(createRecords, customer, { body });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      ...body,
      seen: expect.stringMatching(/^2026-01-01T00:00:00(\.000)?(Z|\+00:00)$/),
      level: 'silver',
      number: 'C-0001',
      version: 1,
      createdBy: 'key-1',
      code: null,
    });
    expect(json.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(headers).toEqual({
      etag: '"1"',
      location: `/api/customers/${json.id}`,
      'content-type': 'application/json',
    });
    const events = await eventsOf(json.id);
    expect(events).toMatchObject([{ kind: 'created', version: 1, before: null, after: { id: json.id, name: 'Ada' } }]);
    expect(JSON.stringify(events)).not.toContain('hush');
  });

  it('takes and answers JSON:API documents', async () => {
    const ada = await create(customer, { name: 'Bob' });
    const { status, json } = await records.call(createRecords, order, {
      shape: 'jsonapi',
      body: {
        data: {
          type: 'orders',
          attributes: { title: 'one' },
          relationships: { customer: { data: { type: 'customers', id: ada.id } } },
        },
      },
    });
    expect(status).toBe(201);
    expect(json.data).toMatchObject({
      type: 'orders',
      attributes: { title: 'one' },
      relationships: { customer: { data: { type: 'customers', id: ada.id } }, follows: { data: null } },
    });
  });

  it('names all problems of all records at once, and writes none', async () => {
    const body = [{ name: 'x'.repeat(21), level: 'bronze' }, { nane: 'x', email: 'nobody' }, { name: 'fine' }, 5];
    expect(await records.call(createRecords, customer, { body })).toMatchObject({
      status: 400,
      problems: ['INVALID_PAYLOAD /3'],
    });
    const { status, problems, json } = await records.call(createRecords, customer, { body: body.slice(0, 3) });
    expect(status).toBe(400);
    expect(problems.toSorted()).toEqual([
      'maxLength /0/name',
      'nullable /1/name',
      'picklist /0/level',
      'type /1/email',
      'unknownField /1/nane',
    ]);
    expect(json.message).toContain('Did you mean "name"?');
    const readOnly = await records.call(createRecords, customer, {
      body: { name: 'x', number: '5', createdAt: 'x', id: missingId },
    });
    expect(readOnly.problems.toSorted()).toEqual(['clientIds /id', 'readOnly /createdAt', 'readOnly /number']);
  });

  it('creates an array of records in order, with numbers of their own', async () => {
    const { json, status } = await records.call(createRecords, customer, {
      body: { data: Array.from({ length: 30 }, (_, at) => ({ type: 'customers', attributes: { name: `n${at}` } })) },
    });
    expect(status).toBe(201);
    expect(json.data.map(({ name }: { name: string }) => name)).toEqual(
      Array.from({ length: 30 }, (_, at) => `n${at}`),
    );
    expect(new Set(json.data.map(({ number }: { number: string }) => number)).size).toBe(30);
    const ids = json.data.map(({ id }: { id: string }) => id);
    expect(ids.toSorted()).toEqual(ids);
  });

  it('merges with PATCH, removes with null, and counts the version', async () => {
    const { id } = await create(customer, { name: 'Cora', order: 5, meta: { a: 1 }, code: 'k1' });
    const first = await records.call(updateRecord, customer, { id, body: { order: 6, meta: null } });
    expect(first).toMatchObject({
      status: 200,
      headers: { etag: '"2"' },
      json: { name: 'Cora', order: 6, meta: null, version: 2, code: 'k1' },
    });
    const second = await records.call(updateRecord, customer, {
      id,
      body: { data: { type: 'customers', id, attributes: { name: 'Dora' } } },
      shape: 'jsonapi',
    });
    expect(second.json.data).toMatchObject({ id, attributes: { name: 'Dora', order: 6 }, meta: { version: 3 } });
    expect(await eventsOf(id)).toMatchObject([
      { kind: 'created', version: 1 },
      { kind: 'updated', version: 2, before: { order: 5, meta: { a: 1 } }, after: { order: 6, meta: null } },
      { kind: 'updated', version: 3, before: { name: 'Cora', order: 6 }, after: { name: 'Dora' } },
    ]);
  });

  it('replaces with PUT: absent values become their default or nothing', async () => {
    const { id } = await create(customer, { name: 'Eve', level: 'gold', order: 5, code: 'k2' });
    const { json } = await records.call(replaceRecord, customer, { id, body: { name: 'Eva' } });
    expect(json).toMatchObject({ name: 'Eva', level: 'silver', order: null, code: 'k2', number: expect.any(String) });
    expect(await records.call(replaceRecord, customer, { id, body: {} })).toMatchObject({
      problems: ['nullable /name'],
    });
  });

  it('checks If-Match in the statement: of 20 writers with one version, one wins', async () => {
    const { id } = await create(customer, { name: 'Fay' });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, order) =>
        records.call(updateRecord, customer, { id, body: { order }, headers: { 'if-match': '"1"' } }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 19 }, () => 412),
    ]);
    expect(await records.call(updateRecord, customer, { id, body: {}, headers: { 'if-match': 'abc' } })).toMatchObject({
      problems: ['IF_MATCH_INVALID'],
    });
    const stale = await records.call(deleteRecord, customer, { id, headers: { 'if-match': '"1"' } });
    expect(stale).toMatchObject({ status: 412, problems: ['STALE_WRITE'] });
    expect(await records.call(deleteRecord, customer, { id, headers: { 'if-match': '"2"' } })).toMatchObject({
      status: 204,
    });
  });

  it('keeps concurrent changes of different fields, each with what was before it', async () => {
    const { id } = await create(customer, { name: 'Gil', order: 0 });
    await Promise.all(
      Array.from({ length: 20 }, (_, order) =>
        records.call(updateRecord, customer, { id, body: order % 2 ? { order } : { credit: order } }),
      ),
    );
    const events = await eventsOf(id);
    expect(events.map(({ version }) => version)).toEqual(Array.from({ length: 21 }, (_, at) => at + 1));
    for (const [at, { before }] of events.entries()) if (at > 0) expect(before).toEqual(events[at - 1]?.after);
  });

  it('refuses another value of an immutable field, and takes the same', async () => {
    const { id } = await create(customer, { name: 'Hal', code: 'k3' });
    expect(await records.call(updateRecord, customer, { id, body: { code: 'k3', order: 1 } })).toMatchObject({
      status: 200,
    });
    const refused = await records.call(updateRecord, customer, { id, body: { code: 'k4', order: 2 } });
    expect(refused).toMatchObject({ status: 400, problems: ['immutable /code'] });
    expect(await eventsOf(id)).toHaveLength(2);
  });

  it('names the field and the record of a unique violation', async () => {
    await create(customer, { name: 'Ian', email: 'ian@example.com' });
    const body = [
      { name: 'Jon', email: 'jon@example.com' },
      { name: 'Ian', email: 'ian@example.com' },
    ];
    const refused = await records.call(createRecords, customer, { body });
    expect(refused).toMatchObject({ status: 409, problems: ['UNIQUE_VIOLATION /1/email'] });
    expect(refused.json.message).toContain('ian@example.com');
  });

  it('checks references in the same statement, also to records of the same request', async () => {
    const refused = await records.call(createRecords, order, {
      body: [{ title: 'a' }, { title: 'b', customer: missingId }],
    });
    expect(refused).toMatchObject({ status: 400, problems: ['reference /1/customer'] });
    expect(refused.json.message).toContain(missingId);
    const { id } = await create(order, { title: 'c' });
    expect(await records.call(updateRecord, order, { id, body: { follows: missingId } })).toMatchObject({
      problems: ['reference /follows'],
    });
    expect(await records.call(updateRecord, order, { id, body: { follows: id } })).toMatchObject({ status: 200 });
    const denied = { mayRead: () => false, mayWrite: ({ name }: CollectionModel) => name === 'orders' };
    expect(await records.call(createRecords, order, { body: { customer: missingId }, access: denied })).toMatchObject({
      status: 403,
    });
  });

  it('deletes details with their master, clears lookups, and writes the events of all', async () => {
    const { id: customerId } = await create(customer, { name: 'Kim' });
    const { id: orderId } = await create(order, { title: 'd', customer: customerId });
    const { id: lineId } = await create(line, { order: orderId, amount: 1 });
    const { id: later } = await create(order, { title: 'e', follows: orderId });
    expect(await records.call(deleteRecord, order, { id: orderId })).toMatchObject({ status: 204 });
    expect(await eventsOf(orderId)).toMatchObject([
      {},
      { kind: 'deleted', version: 2, before: { title: 'd' }, after: null },
    ]);
    expect(await eventsOf(lineId)).toMatchObject([
      {},
      { kind: 'deleted', version: 2, before: { amount: 1 }, after: null },
    ]);
    expect(await eventsOf(later)).toMatchObject([
      {},
      { kind: 'updated', before: { follows: orderId }, after: { follows: null } },
    ]);
    expect(await records.call(deleteRecord, order, { id: orderId })).toMatchObject({ status: 404 });
    expect(await records.call(updateRecord, line, { id: lineId, body: { amount: 2 } })).toMatchObject({ status: 404 });
  });

  it('refuses to delete what a required lookup needs', async () => {
    const { id } = await create(customer, { name: 'Lea' });
    await create(guard, { watched: id });
    expect(await records.call(deleteRecord, customer, { id })).toMatchObject({
      status: 409,
      problems: ['REFERENCED_RECORD'],
    });
    expect(await eventsOf(id)).toHaveLength(1);
  });

  it('leaves no reference to a record that is deleted at the same time', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 15 }, async () => {
        const { id } = await create(order, { title: 'race' });
        const [created] = await Promise.all([
          records.call(createRecords, line, { body: { order: id, amount: 1 } }),
          records.call(deleteRecord, order, { id }),
        ]);
        if (created.status !== 201) return [created.status];
        return (await eventsOf(created.json.id)).map(({ kind }) => kind);
      }),
    );
    for (const outcome of outcomes) expect([[400], ['created', 'deleted']]).toContainEqual(outcome);
  });

  it('upserts by a unique field: new records get defaults, existing ones are merged', async () => {
    const query = 'on_conflict=code';
    const first = await records.call(createRecords, customer, { query, body: { code: 'u1', name: 'Max' } });
    expect(first).toMatchObject({ status: 201, json: { level: 'silver', version: 1 } });
    await records.call(updateRecord, customer, { id: first.json.id, body: { level: 'gold' } });
    const body = [
      { code: 'u1', order: 3 },
      { code: 'u2', name: 'Nia' },
    ];
    const second = await records.call(createRecords, customer, { query, body });
    expect(second).toMatchObject({
      status: 200,
      json: {
        data: [
          { id: first.json.id, name: 'Max', level: 'gold', order: 3, version: 3 },
          { level: 'silver', version: 1 },
        ],
      },
    });
    expect(await records.call(createRecords, customer, { query, body: { code: 'u3' } })).toMatchObject({
      problems: ['nullable /name'],
    });
    expect(await records.call(createRecords, customer, { query: 'on_conflict=name', body: {} })).toMatchObject({
      problems: ['INVALID_PARAMETER on_conflict'],
    });
    const racing = await Promise.all(
      Array.from({ length: 10 }, (_, order) =>
        records.call(createRecords, customer, { query, body: { code: 'u9', name: 'Ova', order } }),
      ),
    );
    expect(racing.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 9 }, () => 200),
      201,
    ]);
    expect(new Set(racing.map(({ json }) => json.id)).size).toBe(1);
  });

  it('answers a repeated request with an idempotency key as the first time', async () => {
    const headers = { 'idempotency-key': `key-${storageMode}` };
    const body = { name: 'Pia', email: 'pia@example.com' };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => records.call(createRecords, customer, { headers, body })),
    );
    answers.push(await records.call(createRecords, customer, { headers, body }));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 201, json: { name: 'Pia' } });
    const other = await records.call(createRecords, customer, { headers, body: { name: 'Pio' } });
    expect(other).toMatchObject({ status: 422, problems: ['RECORD_IDEMPOTENCY_KEY_REUSED'] });
  });

  it('answers without a body on request', async () => {
    const headers = { prefer: 'return=minimal' };
    const created = await records.call(createRecords, customer, { headers, body: { name: 'Quin' } });
    expect(created).toMatchObject({
      status: 201,
      json: undefined,
      headers: { 'preference-applied': 'return=minimal' },
    });
    const id = created.headers['location']?.split('/').at(-1) ?? '';
    expect(await records.call(updateRecord, customer, { id, headers, body: { order: 1 } })).toMatchObject({
      status: 204,
      headers: { etag: '"2"' },
    });
  });

  it('replaces an array of records, all or none', async () => {
    const { json } = await records.call(createRecords, customer, {
      body: [{ name: 'Ray' }, { name: 'Sue', order: 1 }],
    });
    const [ray, sue] = json.data;
    const done = await records.call(replaceRecords, customer, {
      body: [
        { id: sue.id, name: 'Suz' },
        { id: ray.id, name: 'Roy' },
      ],
    });
    expect(done.json.data).toMatchObject([{ id: sue.id, name: 'Suz', order: null, version: 2 }, { name: 'Roy' }]);
    const refused = await records.call(replaceRecords, customer, {
      body: [
        { id: sue.id, name: 'X' },
        { id: missingId, name: 'Y' },
      ],
    });
    expect(refused.status).toBe(404);
    expect(await eventsOf(sue.id)).toHaveLength(2);
  });

  const operate = (operations: unknown, headers: Record<string, string> = {}) =>
    records.callTenant(runOperations, storageMode, { body: { 'atomic:operations': operations }, headers });

  it('runs operations on several collections, with local ids, all or none', async () => {
    const { id: old } = await create(order, { title: 'old' });
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
  });

  it('changes and deletes by filter, at most max_affected', async () => {
    const made = Array.from({ length: 5 }, (_, at) => ({ title: `f${at % 2}`, customer: null }));
    await create(order, made);
    const query = 'filter[title][eq]=f0&max_affected=3';
    const changed = await records.call(updateRecords, order, { query, body: { title: 'f2' } });
    expect(changed).toMatchObject({ status: 200, json: { meta: { affected: 3 } } });
    const tooMany = 'filter[title][in]=f1,f2&max_affected=4';
    for (const operation of [updateRecords, deleteRecords]) {
      const body = operation === updateRecords ? { title: 'f3' } : undefined;
      expect(await records.call(operation, order, { query: tooMany, body })).toMatchObject({
        status: 409,
        problems: ['TOO_MANY_AFFECTED'],
      });
      expect(await records.call(operation, order, { query: 'max_affected=0', body })).toMatchObject({
        problems: ['INVALID_PARAMETER max_affected', 'INVALID_PARAMETER filter'],
      });
      expect(await records.call(operation, order, { query: 'filter[titel][eq]=1&max_affected=2', body })).toMatchObject(
        {
          status: 400,
        },
      );
    }
    const all = 'filter[title][in]=f1,f2&max_affected=5';
    expect(await records.call(deleteRecords, order, { query: all })).toMatchObject({ json: { meta: { affected: 5 } } });
    expect(await records.call(deleteRecords, order, { query: all })).toMatchObject({ json: { meta: { affected: 0 } } });
  });

  it('changes and deletes the records of an array, all or none', async () => {
    const { data } = await create(order, [{ title: 'g0' }, { title: 'g1' }]);
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
    expect(await eventsOf(one.id)).toHaveLength(3);
  });

  it('writes children of a record under its path only', async () => {
    const { id: mine } = await create(order, { title: 'parent' });
    const { id: other } = await create(order, { title: 'other' });
    const field = line.fields.get('order');
    if (!field) throw new Error('the field exists');
    const under = (id: string) => ({ parent: { collection: order, id, field } });
    const { json, status } = await records.call(createRecords, line, { ...under(mine), body: { amount: 5 } });
    expect([status, json.order]).toEqual([201, mine]);
    const { id } = json;
    expect(await records.call(updateRecord, line, { ...under(other), id, body: { amount: 6 } })).toMatchObject({
      status: 404,
    });
    expect(await records.call(deleteRecord, line, { ...under(other), id })).toMatchObject({ status: 404 });
    expect(await records.call(updateRecord, line, { ...under(mine), id, body: { amount: 6 } })).toMatchObject({
      status: 200,
    });
    expect(await records.call(deleteRecord, line, { ...under('x'), id })).toMatchObject({ status: 404 });
    expect(await records.call(deleteRecord, line, { ...under(mine), id })).toMatchObject({ status: 204 });
  });

  it('restores a deleted record with the details of the same deletion', async () => {
    const { id } = await create(folder, { name: 'top' });
    const { id: inner } = await create(page, { folder: id, title: 'a' });
    const { id: earlier } = await create(page, { folder: id, title: 'b' });
    await records.call(deleteRecord, page, { id: earlier });
    await records.call(deleteRecord, folder, { id });
    expect(await records.call(restoreRecord, page, { id: inner })).toMatchObject({
      status: 400,
      problems: ['reference /data/attributes/folder'],
    });
    const restored = await records.call(restoreRecord, folder, { id });
    expect(restored).toMatchObject({ status: 200, headers: { etag: '"3"' }, json: { name: 'top', deletedAt: null } });
    const kinds = async (of: string) => (await eventsOf(of)).map(({ kind }) => kind);
    expect(await kinds(inner)).toEqual(['created', 'deleted', 'restored']);
    expect(await kinds(earlier)).toEqual(['created', 'deleted']);
    expect(await records.call(restoreRecord, folder, { id })).toMatchObject({ status: 404 });
    expect(await records.call(restoreRecord, customer, { id })).toMatchObject({ problems: ['SOFT_DELETE_OFF'] });
    await records.call(deleteRecord, folder, { id });
    await create(folder, { name: 'top' });
    expect(await records.call(restoreRecord, folder, { id })).toMatchObject({
      status: 409,
      problems: ['UNIQUE_VIOLATION '],
    });
  });

  it('keeps versions of records, and restores one with every digit', async () => {
    const { id } = await create(page, { title: 'v1', secret: 'hush', price: '1234567890123456.78' });
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
});
