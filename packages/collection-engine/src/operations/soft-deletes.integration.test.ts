import { storageModes, type CollectionDefinition } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import type { RecordOperation } from '../request/record-operation.js';
import { collectionTestSchema } from '../testing/index.js';
import { aggregateRecords } from './aggregate-records.js';
import { deleteRecord, deleteRecords } from './delete-records.js';
import { getRecord } from './get-record.js';
import { listRecords } from './list-records.js';
import { restoreRecord, restoreRecordVersion } from './restore-records.js';
import { runOperations } from './run-operations.js';
import { replaceRecord, updateRecord, updateRecords } from './update-records.js';
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

const customerIn = (record: { customer?: unknown } | null): unknown => record?.customer;

const definitions = {
  customers: {
    name: 'customers',
    softDelete: true,
    fields: [
      { name: 'name', type: 'STRING' },
      { name: 'sponsor', type: 'LOOKUP', references: { collection: 'customers' } },
    ],
  },
  orders: {
    name: 'orders',
    fields: [
      { name: 'title', type: 'STRING' },
      { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
      { name: 'hasCustomer', type: 'FORMULA', formula: { expression: '!ISBLANK(customer)', returns: 'BOOLEAN' } },
    ],
  },
  plans: { name: 'plans', softDelete: true, fields: [{ name: 'name', type: 'STRING' }] },
  steps: {
    name: 'steps',
    softDelete: true,
    fields: [
      { name: 'plan', type: 'MASTER_DETAIL', references: { collection: 'plans' } },
      { name: 'after', type: 'LOOKUP', references: { collection: 'steps' } },
    ],
  },
  notes: {
    name: 'notes',
    fields: [
      { name: 'text', type: 'STRING' },
      { name: 'step', type: 'LOOKUP', references: { collection: 'steps' } },
    ],
  },
} as const satisfies Record<string, CollectionDefinition>;

describe.each(storageModes)('a soft deletion in %s', (storageMode) => {
  const models = new Map<string, CollectionModel>();
  beforeAll(async () => {
    for (const definition of Object.values(definitions))
      models.set(definition.name, await records.define({ ...definition, storageMode }, storageMode));
  });
  const model = (name: keyof typeof definitions): CollectionModel => {
    const found = models.get(name);
    if (!found) throw new Error(`${name} is defined above`);
    return found;
  };
  const run = async (operation: RecordOperation, name: keyof typeof definitions, id: string, body?: unknown) => {
    const answer = await records.call(operation, model(name), { id, ...(body !== undefined && { body }) });
    if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.json)}`);
    return answer.json;
  };
  const create = async (name: keyof typeof definitions, body: object): Promise<string> =>
    (await records.create(model(name), body)).id;
  const customerOf = async (id: string): Promise<unknown> => (await run(getRecord, 'orders', id)).customer;
  const titles = async (query: string): Promise<unknown[]> =>
    (await records.call(listRecords, model('orders'), { query })).json.data.map(
      (each: { title: string }) => each.title,
    );

  it('lets lookups read as null in every way, and a restoration brings them back', async () => {
    const [ada, bob] = [await create('customers', { name: 'Ada' }), await create('customers', { name: 'Bob' })];
    const first = await create('orders', { title: 'a', customer: ada });
    await create('orders', { title: 'b', customer: bob });
    const all = 'filter[title][in]=a,b';
    const views = async () => ({
      get: [await customerOf(first), (await run(getRecord, 'orders', first)).hasCustomer],
      linkage: (
        await records.call(getRecord, model('orders'), { id: first, shape: 'jsonapi', query: 'include=customer' })
      ).json,
      included: (await records.call(listRecords, model('orders'), { query: `${all}&include=customer&sort=title` })).json
        .data[0].customer,
      filtered: await titles(`${all}&filter[customer][eq]=${ada}`),
      without: await titles(`${all}&filter[customer][isnull]=true`),
      related: await titles(`${all}&filter[customer.name][eq]=Ada`),
      sorted: await titles(`${all}&sort=customer.name`),
      reverse: (await records.call(getRecord, model('customers'), { id: bob, query: 'include=orders' })).json.orders
        .length,
      groups: (
        await records.call(aggregateRecords, model('orders'), {
          query: `${all}&group=customer&agg[customer]=count:known&sort=-known`,
        })
      ).json.data,
    });
    const before = await views();
    expect(before).toMatchObject({
      get: [ada, true],
      included: { name: 'Ada' },
      filtered: ['a'],
      without: [],
      related: ['a'],
      sorted: ['a', 'b'],
    });
    await run(deleteRecord, 'customers', ada);
    expect(await views()).toMatchObject({
      get: [null, false],
      linkage: { data: { relationships: { customer: { data: null } } }, included: [] },
      included: null,
      filtered: [],
      without: ['a'],
      related: [],
      sorted: ['b', 'a'],
      groups: [
        { customer: bob, known: 1 },
        { customer: null, known: 0 },
      ],
    });
    await run(updateRecord, 'orders', first, { title: 'a' });
    expect((await run(restoreRecord, 'customers', ada)).deletedAt).toBeNull();
    const after = await views();
    const timeless = (json: string): string => json.replaceAll(/"(?:version|updatedAt)":(?:\d+|"[^"]*")/g, '');
    expect(timeless(JSON.stringify(after))).toBe(timeless(JSON.stringify(before)));
    const values = (await records.eventsOf(first)).map(({ kind, before: old, after: now }) => [
      kind,
      customerIn(old),
      customerIn(now),
    ]);
    expect(values).toEqual([
      ['created', undefined, ada],
      ['updated', ada, null],
      ['updated', null, null],
      ['updated', null, ada],
    ]);
  });

  it('is forgotten by a record that gets another value, or none, meanwhile', async () => {
    const [gone, other] = [await create('customers', { name: 'gone' }), await create('customers', { name: 'other' })];
    const made = ['changed', 'cleared', 'replaced', 'filtered', 'listed', 'kept'].map((title) => ({
      title: `${title} ${storageMode}`,
      customer: gone,
    }));
    const { data } = await records.create(model('orders'), made);
    const [changed, cleared, replaced, filtered, listed, kept] = data.map(({ id }: { id: string }) => id);
    await run(deleteRecord, 'customers', gone);
    await run(updateRecord, 'orders', changed, { customer: other });
    await run(updateRecord, 'orders', changed, { title: 'changed twice' });
    await run(updateRecord, 'orders', cleared, { customer: null });
    await run(replaceRecord, 'orders', replaced, { title: 'replaced' });
    const query = `filter[id][eq]=${filtered}&max_affected=1`;
    expect(await records.call(updateRecords, model('orders'), { query, body: { customer: null } })).toMatchObject({
      status: 200,
    });
    const body = [
      { id: listed, customer: null },
      { id: kept, title: 'kept' },
    ];
    expect(await records.call(updateRecords, model('orders'), { body })).toMatchObject({ status: 200 });
    // A refused write changes nothing, also not what it would have replaced.
    expect(await records.call(updateRecord, model('orders'), { id: kept, body: { customer: gone } })).toMatchObject({
      status: 400,
      problems: ['reference /customer'],
    });
    await run(restoreRecord, 'customers', gone);
    const found = await Promise.all([changed, cleared, replaced, filtered, listed, kept].map(customerOf));
    expect(found).toEqual([other, null, null, null, null, gone]);
  });

  it('reaches lookups to details and those between records that are deleted together', async () => {
    const plan = await create('plans', { name: 'p' });
    const first = await create('steps', { plan });
    const second = await create('steps', { plan, after: first });
    const note = await create('notes', { text: 'n', step: second });
    await run(deleteRecord, 'plans', plan);
    expect((await run(getRecord, 'notes', note)).step).toBeNull();
    await run(restoreRecord, 'plans', plan);
    expect((await run(getRecord, 'notes', note)).step).toBe(second);
    expect((await run(getRecord, 'steps', second)).after).toBe(first);
    // Of two that are deleted one after the other, each comes back without the other.
    await run(deleteRecord, 'steps', first);
    await run(deleteRecord, 'steps', second);
    expect(await run(restoreRecord, 'steps', second)).toMatchObject({ after: null });
    await run(restoreRecord, 'steps', first);
    expect((await run(getRecord, 'steps', second)).after).toBe(first);
  });

  it('keeps what a record says of itself, and the answer of its restoration is the record', async () => {
    const id = await create('customers', { name: 'self' });
    await run(updateRecord, 'customers', id, { sponsor: id });
    await run(deleteRecord, 'customers', id);
    const restored = await run(restoreRecord, 'customers', id);
    expect(restored).toMatchObject({ sponsor: id, version: 4 });
    expect(await run(getRecord, 'customers', id)).toEqual(restored);
  });

  it('is the same for atomic operations and for arrays of ids', async () => {
    const both = [await create('customers', { name: 'x' }), await create('customers', { name: 'y' })];
    const made = await Promise.all(both.map((customer) => create('orders', { title: 'op', customer })));
    const operations = [{ op: 'remove', ref: { type: 'customers', id: both[0] } }];
    const body = { 'atomic:operations': operations };
    expect(await records.callTenant(runOperations, storageMode, { body })).toMatchObject({ status: 204 });
    expect(await records.call(deleteRecords, model('customers'), { body: [both[1]] })).toMatchObject({ status: 204 });
    expect(await Promise.all(made.map(customerOf))).toEqual([null, null]);
    for (const id of both) await run(restoreRecord, 'customers', id);
    expect(await Promise.all(made.map(customerOf))).toEqual(both);
  });

  it('survives concurrent changes of the lookup: the reference is the old one or the new one, and none is left over', async () => {
    const other = await create('customers', { name: 'other' });
    for (let round = 0; round < 8; round += 1) {
      const gone = await create('customers', { name: 'gone' });
      const id = await create('orders', { title: 'race', customer: gone });
      await run(deleteRecord, 'customers', gone);
      await Promise.all([run(restoreRecord, 'customers', gone), run(updateRecord, 'orders', id, { customer: other })]);
      expect(await customerOf(id)).toBe(other);
    }
    const left = await database.query(`select from drover.hidden_references where collection_id = $1`, [
      model('orders').id,
    ]);
    expect(left).toEqual([]);
  });

  it('leaves nothing behind when the record with the lookup is removed', async () => {
    const customer = await create('customers', { name: 'left' });
    const id = await create('orders', { title: 'removed', customer });
    await run(deleteRecord, 'customers', customer);
    await run(deleteRecord, 'orders', id);
    expect(await database.query('select from drover.hidden_references where record_id = $1', [id])).toEqual([]);
    await run(restoreRecord, 'customers', customer);
  });
});

describe.each(storageModes)('a restoration in %s', (storageMode) => {
  const tasks: CollectionDefinition = {
    name: 'tasks',
    storageMode,
    softDelete: true,
    history: true,
    fields: [
      { name: 'title', type: 'STRING' },
      { name: 'level', type: 'PICKLIST', values: ['low', 'high'] },
      { name: 'owner', type: 'STRING' },
      { name: 'secret', type: 'ENCRYPTED' },
      { name: 'size', type: 'LONG' },
      { name: 'due', type: 'DATETIME' },
    ],
  };
  let task: CollectionModel;
  /** The same table, with another definition. */
  const changed = (definition: Partial<CollectionDefinition>): CollectionModel =>
    compileCollection({
      ...task,
      version: 2,
      columns: Object.fromEntries([...task.fields.values()].map(({ name, column }) => [name, column])),
      definition: { ...tasks, ...definition },
    });
  const fieldsWith = (name: string, change: object): CollectionDefinition['fields'] =>
    tasks.fields.map((field) => (field.name === name ? { ...field, ...change } : field));
  beforeAll(async () => {
    task = await records.define(tasks, `restored ${storageMode}`);
  });

  it('is refused while the definition refuses the record, and happens once it does not', async () => {
    const body = {
      title: 'a long title',
      level: 'low',
      secret: 's',
      size: '9223372036854775807',
      due: '2026-01-31T12:00:00.123Z',
    };
    const { id } = await records.create(task, body);
    await records.call(deleteRecord, task, { id });
    const rule = { name: 'owned', errorCondition: 'ISBLANK(owner)', errorMessage: 'A task has an owner.' };
    const changes: readonly [Partial<CollectionDefinition>, number, string][] = [
      [{ fields: fieldsWith('owner', { required: true }) }, 400, 'nullable /data/attributes/owner'],
      [{ fields: fieldsWith('level', { values: ['high'] }) }, 400, 'picklist /data/attributes/level'],
      [{ fields: fieldsWith('title', { constraints: { maxLength: 5 } }) }, 400, 'maxLength /data/attributes/title'],
      [{ validationRules: [rule] }, 422, 'VALIDATION_RULE_FAILED /data'],
      [{ validationRules: [{ ...rule, errorField: 'owner' }] }, 422, 'VALIDATION_RULE_FAILED /data/attributes/owner'],
    ];
    for (const [definition, status, problem] of changes) {
      const refused = await records.call(restoreRecord, changed(definition), { id });
      expect(refused).toMatchObject({ status, problems: [problem] });
      expect(await records.call(getRecord, task, { id })).toMatchObject({ status: 404 });
    }
    const unlike = changed({ validationRules: [{ ...rule, evaluateOn: 'CREATE' }] });
    expect(await records.call(restoreRecord, unlike, { id })).toMatchObject({ status: 200 });
  });

  it('of an earlier version is refused if the definition does not allow its values any more', async () => {
    const { id } = await records.create(task, { title: 'v1', level: 'low' });
    await records.call(updateRecord, task, { id, body: { level: 'high', owner: 'kim' } });
    for (const [definition, problem] of [
      [{ fields: fieldsWith('owner', { required: true }) }, 'nullable /data/attributes/owner'],
      [{ fields: fieldsWith('level', { values: ['high'] }) }, 'picklist /data/attributes/level'],
    ] as const) {
      const refused = await records.call(restoreRecordVersion, changed(definition), { id, version: '1' });
      expect(refused).toMatchObject({ status: 400, problems: [problem] });
    }
    expect(await records.call(getRecord, task, { id })).toMatchObject({ json: { owner: 'kim', version: 2 } });
    expect(await records.call(restoreRecordVersion, task, { id, version: '1' })).toMatchObject({
      status: 200,
      json: { owner: null, level: 'low', version: 3 },
    });
  });
});
