import { storageModes } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectionTestSchema } from '../testing/index.js';
import { getRecord } from './get-record.js';
import { runOperations } from './run-operations.js';
import { defineAll, missingId, TestCollections } from './write.test.fixture.js';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let records: TestCollections;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  records = new TestCollections(await server.connect());
});
afterAll(() => server.drop());

describe.each(storageModes)('atomic operations in %s', (storageMode) => {
  let all: Awaited<ReturnType<typeof defineAll>>;
  beforeAll(async () => {
    all = await defineAll(records, storageMode);
  });

  const operate = (...operations: unknown[]) =>
    records.callTenant(runOperations, storageMode, { body: { 'atomic:operations': operations } });
  const update = (id: string, title: string, meta?: unknown) => ({
    op: 'update',
    data: { type: 'orders', id, attributes: { title } },
    ...(meta !== undefined && { meta }),
  });
  const remove = (id: string, meta?: unknown) => ({
    op: 'remove',
    ref: { type: 'orders', id },
    ...(meta !== undefined && { meta }),
  });

  it('change and remove records that have the expected version, and nothing if one has not', async () => {
    const { order } = all;
    const { data } = await records.create(order, [{ title: 'a' }, { title: 'b' }, { title: 'c' }, { title: 'd' }]);
    const [a, b, c, d] = (data as { id: string }[]).map(({ id }) => id) as [string, string, string, string];
    const version = { version: 1 };
    expect(await operate(update(a, 'a2', version), update(b, 'b2'))).toMatchObject({ status: 200 });

    const stale = { status: 412, json: { code: 'STALE_WRITE' } };
    expect(await operate(update(b, 'b3'), update(c, 'c2', version), update(a, 'a3', version))).toMatchObject(stale);
    expect(await operate(remove(c, version), remove(d), remove(a, version))).toMatchObject(stale);
    expect(await operate(remove(d), remove(b, version))).toMatchObject(stale);
    const titles = await Promise.all([a, b, c, d].map((id) => records.call(getRecord, order, { id })));
    expect(titles.map(({ json }) => json.title)).toEqual(['a2', 'b2', 'c', 'd']);

    // The second change of a record finds the version that the first has made.
    const both = await operate(update(a, 'a3', { version: 2 }), update(a, 'a4', { version: 3 }), remove(c, version));
    expect(both).toMatchObject({
      status: 200,
      json: { 'atomic:results': [{}, { data: { meta: { version: 4 } } }, {}] },
    });
    expect(await records.call(getRecord, order, { id: c })).toMatchObject({ status: 404 });
  });

  it('name the operation whose record has another version', async () => {
    const { order } = all;
    const { data } = await records.create(order, [{ title: 'e' }, { title: 'f' }]);
    const [first, second] = (data as { id: string }[]).map(({ id }) => id) as [string, string];
    const body = { 'atomic:operations': [update(first, 'x'), update(second, 'y', { version: 7 })] };
    const refused = records.callTenant(runOperations, storageMode, { body });
    expect((await refused).json.message).toContain(`The record ${second} has version 1, but the request expects 7.`);
  });

  it.each([
    [{ op: 'add', data: { type: 'ordres', attributes: {} } }, '/data/type', 404, 'COLLECTION_UNKNOWN'],
    [{ op: 'remove', ref: { type: 'ordres', id: missingId } }, '/ref/type', 404, 'COLLECTION_UNKNOWN'],
    [{ op: 'add', data: { type: 'guards', attributes: {} } }, '/data/type', 403, 'RECORD_ACCESS_DENIED'],
  ])('name the place of a collection that they cannot write: %j', async (operation, place, status, code) => {
    const access = { mayRead: () => true, mayWrite: ({ name }: { name: string }) => name !== 'guards' };
    const body = { 'atomic:operations': [{ op: 'add', data: { type: 'orders', attributes: {} } }, operation] };
    const refused = await records.callTenant(runOperations, storageMode, { body, access });
    expect(refused).toMatchObject({ status, json: { code }, pointer: `/atomic:operations/1${place}` });
  });

  it.each([
    [update('x', 'y', { version: 0 }), '/meta'],
    [update('x', 'y', { version: '1' }), '/meta'],
    [update('x', 'y', 3), '/meta'],
    [update('x', 'y', { version: 1, etag: 1 }), '/meta'],
    [{ op: 'add', data: { type: 'orders' }, meta: { version: 1 } }, '/meta'],
    [{ ...update('x', 'y'), ifMatch: 1 }, '/ifMatch'],
  ])('refuse %j', async (operation, place) => {
    const { status, problems } = await operate(operation);
    expect([status, problems]).toEqual([400, [`INVALID_PAYLOAD /atomic:operations/0${place}`]]);
  });
});

describe('a deadlock of two atomic requests', () => {
  it('is ended by PostgreSQL and the request that it chose runs again: both are answered', async () => {
    const tenant = 'deadlock';
    const customer = await records.define({ name: 'customers', fields: [{ name: 'name', type: 'STRING' }] }, tenant);
    const order = await records.define(
      {
        name: 'orders',
        fields: [
          { name: 'title', type: 'STRING' },
          { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
        ],
      },
      tenant,
    );
    const idsOf = async (created: Promise<{ data: { id: string }[] }>) => (await created).data.map(({ id }) => id);
    const customers = await idsOf(records.create(customer, [{ name: 'a' }, { name: 'b' }]));
    const orders = await idsOf(
      records.create(
        order,
        customers.map((id) => ({ title: 'x', customer: id })),
      ),
    );
    // Each locks its customer and the order of the other, and then clears the reference to its customer in its own order.
    const request = (mine: 0 | 1, other: 0 | 1) =>
      records.callTenant(runOperations, tenant, {
        body: {
          'atomic:operations': [
            { op: 'remove', ref: { type: 'customers', id: customers[mine] } },
            { op: 'update', data: { type: 'orders', id: orders[other], attributes: { title: `by ${mine}` } } },
          ],
        },
      });
    const { database } = records.dependencies;
    const deadlocks = async (): Promise<number> => {
      const [row] = await database.query<{ deadlocks: number }>(
        'select deadlocks::integer from pg_stat_database where datname = current_database()',
      );
      return row?.deadlocks ?? 0;
    };
    const before = await deadlocks();
    // No event can be written until both requests hold their locks and wait to write one.
    const answers = await (database as Database).transaction(async (tx) => {
      await tx.query('lock table drover.record_events in share mode');
      const running = [request(0, 1), request(1, 0)];
      await eventually(async () => {
        const waiting = await tx.query(
          `select from pg_locks where relation = 'drover.record_events'::regclass and not granted`,
        );
        expect(waiting).toHaveLength(2);
      });
      return { running };
    });
    for (const { status } of await Promise.all(answers.running)) expect(status).toBe(200);
    await eventually(async () => expect(await deadlocks()).toBeGreaterThan(before));
    const stored = await Promise.all(orders.map((id) => records.call(getRecord, order, { id })));
    expect(stored.map(({ json }) => [json.title, json.customer])).toEqual([
      ['by 1', null],
      ['by 0', null],
    ]);
    for (const id of customers) expect(await records.call(getRecord, customer, { id })).toMatchObject({ status: 404 });
  });
});
