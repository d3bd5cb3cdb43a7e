import { storageModes } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { collectionTestSchema } from '../testing/index.js';
import { createRecords } from './create-records.js';
import { deleteRecord } from './delete-records.js';
import { replaceRecord, replaceRecords, updateRecord } from './update-records.js';
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

describe.each(storageModes)('writes of records in %s', (storageMode) => {
  let all: Awaited<ReturnType<typeof defineAll>>;
  beforeAll(async () => {
    all = await defineAll(records, storageMode);
  });

  it('creates a record with all kinds of values, defaults and an auto number, and its event', async () => {
    const { customer } = all;
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
      seen: '2026-01-01T00:00:00.000Z',
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
    const events = await records.eventsOf(json.id);
    expect(events).toMatchObject([{ kind: 'created', version: 1, before: null, after: { id: json.id, name: 'Ada' } }]);
    expect(JSON.stringify(events)).not.toContain('hush');
  });

  it('takes and answers JSON:API documents', async () => {
    const { customer, order } = all;
    const ada = await records.create(customer, { name: 'Bob' });
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
    const { customer } = all;
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
    const latin1 = Buffer.from('{"name":"Zoë"}', 'latin1');
    expect(await records.call(createRecords, customer, { body: latin1 })).toMatchObject({
      status: 400,
      problems: ['INVALID_PAYLOAD '],
    });
    const wrong = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, index]));
    expect((await records.call(createRecords, customer, { body: wrong })).problems).toHaveLength(100);
    const readOnly = await records.call(createRecords, customer, {
      body: { name: 'x', number: '5', createdAt: 'x', id: missingId },
    });
    expect(readOnly.problems.toSorted()).toEqual(['clientIds /id', 'readOnly /createdAt', 'readOnly /number']);
  });

  it('creates an array of records in order, with numbers of their own', async () => {
    const { customer } = all;
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
    const { customer } = all;
    const { id } = await records.create(customer, { name: 'Cora', order: 5, meta: { a: 1 }, code: 'k1' });
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
    expect(await records.eventsOf(id)).toMatchObject([
      { kind: 'created', version: 1 },
      { kind: 'updated', version: 2, before: { order: 5, meta: { a: 1 } }, after: { order: 6, meta: null } },
      { kind: 'updated', version: 3, before: { name: 'Cora', order: 6 }, after: { name: 'Dora' } },
    ]);
  });

  it('replaces with PUT: absent values become their default or nothing', async () => {
    const { customer } = all;
    const { id } = await records.create(customer, { name: 'Eve', level: 'gold', order: 5, code: 'k2' });
    const { json } = await records.call(replaceRecord, customer, { id, body: { name: 'Eva' } });
    expect(json).toMatchObject({ name: 'Eva', level: 'silver', order: null, code: 'k2', number: expect.any(String) });
    expect(await records.call(replaceRecord, customer, { id, body: {} })).toMatchObject({
      problems: ['nullable /name'],
    });
  });

  it('checks If-Match in the statement: of 20 writers with one version, one wins', async () => {
    const { customer } = all;
    const { id } = await records.create(customer, { name: 'Fay' });
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
    // The tag of a compressed answer stands for the same version.
    expect(await records.call(deleteRecord, customer, { id, headers: { 'if-match': '"2-br"' } })).toMatchObject({
      status: 204,
    });
  });

  it('keeps concurrent changes of different fields, each with what was before it', async () => {
    const { customer } = all;
    const { id } = await records.create(customer, { name: 'Gil', order: 0 });
    await Promise.all(
      Array.from({ length: 20 }, (_, order) =>
        records.call(updateRecord, customer, { id, body: order % 2 ? { order } : { credit: order } }),
      ),
    );
    const events = await records.eventsOf(id);
    expect(events.map(({ version }) => version)).toEqual(Array.from({ length: 21 }, (_, at) => at + 1));
    for (const [at, { before }] of events.entries()) if (at > 0) expect(before).toEqual(events[at - 1]?.after);
  });

  it('refuses another value of an immutable field, and takes the same', async () => {
    const { customer } = all;
    const { id } = await records.create(customer, { name: 'Hal', code: 'k3' });
    expect(await records.call(updateRecord, customer, { id, body: { code: 'k3', order: 1 } })).toMatchObject({
      status: 200,
    });
    const refused = await records.call(updateRecord, customer, { id, body: { code: 'k4', order: 2 } });
    expect(refused).toMatchObject({ status: 400, problems: ['immutable /code'] });
    expect(await records.eventsOf(id)).toHaveLength(2);
  });

  it('names the field and the record of a unique violation', async () => {
    const { customer } = all;
    await records.create(customer, { name: 'Ian', email: 'ian@example.com' });
    const body = [
      { name: 'Jon', email: 'jon@example.com' },
      { name: 'Ian', email: 'ian@example.com' },
    ];
    const refused = await records.call(createRecords, customer, { body });
    expect(refused).toMatchObject({ status: 409, problems: ['UNIQUE_VIOLATION /1/email'] });
    expect(refused.json.message).toContain('ian@example.com');
  });

  it('checks references in the same statement, also to records of the same request', async () => {
    const { order } = all;
    const refused = await records.call(createRecords, order, {
      body: [{ title: 'a' }, { title: 'b', customer: missingId }],
    });
    expect(refused).toMatchObject({ status: 400, problems: ['reference /1/customer'] });
    expect(refused.json.message).toContain(missingId);
    const { id } = await records.create(order, { title: 'c' });
    expect(await records.call(updateRecord, order, { id, body: { follows: missingId } })).toMatchObject({
      problems: ['reference /follows'],
    });
    expect(await records.call(updateRecord, order, { id, body: { follows: id } })).toMatchObject({ status: 200 });
    const denied = { mayRead: () => false, mayWrite: ({ name }: CollectionModel) => name === 'orders' };
    expect(await records.call(createRecords, order, { body: { customer: missingId }, access: denied })).toMatchObject({
      status: 403,
    });
  });

  it('upserts by a unique field: new records get defaults, existing ones are merged', async () => {
    const { customer } = all;
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
    const twice = [{ code: 'u1', order: 4 }, { name: 'Keyless' }, { name: 'Keyless' }, { code: 'u1', order: 5 }];
    expect(await records.call(createRecords, customer, { query, body: twice })).toMatchObject({
      status: 409,
      problems: ['UNIQUE_VIOLATION /3/code'],
    });
    expect(await records.call(createRecords, customer, { query, body: twice.slice(0, 3) })).toMatchObject({
      status: 200,
      json: { data: [{ order: 4 }, { version: 1 }, { version: 1 }] },
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
    const { customer } = all;
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
    const { customer } = all;
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
    const { customer } = all;
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
    expect(await records.eventsOf(sue.id)).toHaveLength(2);
  });
});
