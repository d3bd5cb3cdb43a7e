import { storageModes, type CollectionDefinition } from '@drover/contracts';
import { createTestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { collectionTestSchema } from '../testing/index.js';
import { aggregateRecords } from './aggregate-records.js';
import { createRecords } from './create-records.js';
import { getRecord } from './get-record.js';
import { listRecords } from './list-records.js';
import { replaceRecord, updateRecord } from './update-records.js';
import { TestCollections } from './write.test.fixture.js';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let records: TestCollections;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  records = new TestCollections(await server.connect());
});
afterAll(() => server.drop());

const invoices: CollectionDefinition = {
  name: 'invoices',
  fields: [
    { name: 'number', type: 'EXTERNAL_ID' },
    { name: 'price', type: 'CURRENCY' },
    { name: 'quantity', type: 'INTEGER', default: 1 },
    { name: 'due', type: 'DATE' },
    { name: 'locked', type: 'BOOLEAN' },
    { name: 'total', type: 'FORMULA', formula: { expression: 'ROUND(price * quantity * 1.19, 2)', returns: 'DOUBLE' } },
    { name: 'label', type: 'FORMULA', formula: { expression: "number + ': ' + TEXT(total)", returns: 'STRING' } },
    { name: 'reminder', type: 'FORMULA', formula: { expression: 'due + 14', returns: 'DATE' } },
    {
      name: 'paid',
      type: 'ROLLUP_SUMMARY',
      rollup: { collection: 'payments', via: 'invoice', function: 'SUM', field: 'amount' },
    },
    { name: 'open', type: 'FORMULA', formula: { expression: 'total - paid', returns: 'DOUBLE' } },
  ],
  validationRules: [
    {
      name: 'price-is-set',
      errorCondition: 'ISBLANK(price)',
      errorMessage: 'An invoice has a price.',
      errorField: 'price',
      evaluateOn: 'CREATE',
    },
    { name: 'not-too-much', errorCondition: 'total > 1000', errorMessage: 'Split invoices above 1000.' },
    {
      name: 'locked',
      errorCondition: 'locked && quantity > 1',
      errorMessage: 'It is locked.',
      errorField: 'quantity',
      evaluateOn: 'UPDATE',
    },
    { name: 'asleep', errorCondition: 'TRUE', errorMessage: 'Never.', active: false },
  ],
};
const payments: CollectionDefinition = {
  name: 'payments',
  fields: [
    { name: 'invoice', type: 'LOOKUP', references: { collection: 'invoices' } },
    { name: 'amount', type: 'CURRENCY' },
  ],
};

describe.each(storageModes)('computed fields and rules in %s', (storageMode) => {
  let invoice: CollectionModel;
  let first: string;
  beforeAll(async () => {
    invoice = await records.define({ ...invoices, storageMode }, storageMode);
    const payment = await records.define({ ...payments, storageMode }, storageMode);
    const bodies = [
      { number: 'A1', price: 10, quantity: 3, due: '2026-01-20' },
      { number: 'A2', price: 100.5 },
      { number: 'A3', price: 1 },
    ];
    const { json } = await records.call(createRecords, invoice, { body: bodies });
    first = json.data[0].id;
    for (const amount of [5, 0.7]) await records.call(createRecords, payment, { body: { invoice: first, amount } });
  });

  it('shows computed values', async () => {
    const { json } = await records.call(getRecord, invoice, { id: first });
    const { data = json } = json;
    expect(data).toMatchObject({ total: 35.7, label: 'A1: 35.7', reminder: '2026-02-03', paid: 5.7, open: 30 });
  });

  it.each([
    ['filter[total][gt]=30&sort=-total', ['A2', 'A1']],
    ['filter[open][eq]=30', ['A1']],
    ['filter[paid][eq]=0&sort=label', ['A2', 'A3']],
    ['filter[reminder][eq]=2026-02-03', ['A1']],
    ['filter[label][contains]=A3', ['A3']],
    ['sort=-open', ['A2', 'A1', 'A3']],
  ])('filters and sorts by them: %s', async (query, numbers) => {
    const { json, problems } = await records.call(listRecords, invoice, { query });
    expect([problems, json.data?.map(({ number }: { number: string }) => number)]).toEqual([[], numbers]);
  });

  it('refuses new records for which the condition of a rule is true, and names all of them', async () => {
    const body = [
      { number: 'B1', price: 1 },
      { number: 'B2' },
      { number: 'B3', price: 900, locked: true, quantity: 2 },
    ];
    const answer = await records.call(createRecords, invoice, { body });
    expect([answer.status, answer.problems]).toEqual([
      422,
      [
        expect.stringMatching(/^VALIDATION_RULE_FAILED .*1.*price$/),
        expect.stringMatching(/^VALIDATION_RULE_FAILED .*2$/),
      ],
    ]);
    expect(answer.json.message).toContain('Split invoices above 1000.');
    const { json } = await records.call(listRecords, invoice, { query: 'filter[number][starts]=B' });
    expect(json.data).toEqual([]);
  });

  it('refuses changes by the values that a record would have with them', async () => {
    const change = async (body: object): Promise<unknown> => {
      const { status, problems } = await records.call(updateRecord, invoice, { id: first, body });
      return [status, problems];
    };
    expect(await change({ quantity: 300 })).toEqual([422, [expect.stringContaining('VALIDATION_RULE_FAILED')]]);
    expect(await change({ locked: true })).toEqual([422, [expect.stringMatching(/quantity$/)]]);
    expect(await change({ price: null })).toEqual([200, []]);
    expect(await change({ price: 10 })).toEqual([200, []]);
    const replaced = await records.call(replaceRecord, invoice, { id: first, body: { number: 'A1', price: 2000 } });
    expect(replaced.status).toBe(422);
    await records.call(replaceRecord, invoice, {
      id: first,
      body: { number: 'A1', price: 10, quantity: 3, due: '2026-01-20' },
    });
  });

  it('checks the rules of new and of changed records in an upsert', async () => {
    const upsert = async (body: object): Promise<unknown> => {
      const { status, problems } = await records.call(createRecords, invoice, { query: 'on_conflict=number', body });
      return [status, problems];
    };
    expect(await upsert({ number: 'C1' })).toEqual([422, [expect.stringMatching(/price$/)]]);
    expect(await upsert({ number: 'C1', price: 5, locked: true, quantity: 2 })).toEqual([201, []]);
    expect(await upsert({ number: 'C1', quantity: 3 })).toEqual([422, [expect.stringMatching(/quantity$/)]]);
    expect(await upsert({ number: 'C1', price: 2000, quantity: 1 })).toEqual([
      422,
      [expect.stringContaining('VALIDATION')],
    ]);
  });

  it('shows no total of records that the caller may not read, in no answer and by no filter or order', async () => {
    const access = { mayRead: ({ name }: CollectionModel) => name === 'invoices', mayWrite: () => true };
    const own = { id: first, shape: 'flat' as const };
    const { paid, open } = (await records.call(getRecord, invoice, own)).json;
    expect([paid, open]).toEqual([expect.any(Number), expect.any(Number)]);
    expect(paid).toBeGreaterThan(0);
    const hidden = { paid: null };
    const seen = (await records.call(getRecord, invoice, { ...own, access })).json;
    expect(seen).toMatchObject(hidden);
    expect(seen.open).not.toBe(open);
    const changed = await records.call(updateRecord, invoice, { ...own, access, body: { due: '2026-02-01' } });
    expect(changed.json).toMatchObject(hidden);
    const list = async (query: string) => (await records.call(listRecords, invoice, { query, access })).json.data;
    expect(await list('filter[paid][gt]=0')).toEqual([]);
    expect(await list(`filter[open][eq]=${open}`)).toEqual([]);
    const total = await records.call(aggregateRecords, invoice, { query: 'agg[paid]=max:most', access });
    expect(total.json.data).toEqual([{ most: null }]);
    // The statement of one caller is not used for another.
    expect((await records.call(updateRecord, invoice, { ...own, body: { due: '2026-02-02' } })).json.paid).toBe(paid);
  });
});

const addresses: CollectionDefinition = {
  name: 'addresses',
  fields: [
    { name: 'key', type: 'EXTERNAL_ID' },
    { name: 'country', type: 'PICKLIST', values: ['us', 'de', 'va'] },
    {
      name: 'state',
      type: 'PICKLIST',
      values: ['ny', "d'or", 'by'],
      dependsOn: { field: 'country', values: { us: ['ny', "d'or"], de: ['by'] } },
    },
    {
      name: 'zones',
      type: 'MULTI_PICKLIST',
      values: ['est', 'cet', 'pst'],
      dependsOn: { field: 'country', values: { us: ['est', 'pst'], de: ['cet'] } },
    },
  ],
};

describe.each(storageModes)('picklists that depend on others in %s', (storageMode) => {
  let address: CollectionModel;
  beforeAll(async () => {
    address = await records.define({ ...addresses, storageMode }, `picklists ${storageMode}`);
  });

  it('allow the values of the other field in new records', async () => {
    const body = [
      { key: 'a', country: 'us', state: "d'or", zones: ['pst', 'est'] },
      { key: 'b', country: 'va', zones: [] },
      { key: 'c' },
    ];
    expect((await records.call(createRecords, address, { body })).status).toBe(201);
    const wrong = [
      { country: 'us', state: 'by' },
      { country: 'va', state: 'ny' },
      { state: 'ny' },
      { country: 'us', zones: ['est', 'cet'] },
    ];
    const { status, problems } = await records.call(createRecords, address, { body: wrong });
    expect([status, problems]).toEqual([
      400,
      [
        expect.stringMatching(/^picklist .*0.*state$/),
        expect.stringMatching(/^picklist .*1.*state$/),
        expect.stringMatching(/^picklist .*2.*state$/),
        expect.stringMatching(/^picklist .*3.*zones$/),
      ],
    ]);
  });

  it('allow changes by the values that a record would have with them', async () => {
    const { json } = await records.call(createRecords, address, {
      body: { key: 'd', country: 'us', state: 'ny', zones: ['est'] },
    });
    const { id } = json.data ?? json;
    const change = async (body: object): Promise<unknown> => {
      const { status, problems } = await records.call(updateRecord, address, { id, body });
      return [status, problems];
    };
    const misfit = (name: string): unknown => expect.stringMatching(new RegExp(`^picklist .*${name}$`));
    expect(await change({ country: 'de' })).toEqual([400, [misfit('state'), misfit('zones')]]);
    expect(await change({ country: null, zones: null })).toEqual([400, [misfit('state')]]);
    expect(await change({ zones: ['cet'] })).toEqual([400, [misfit('zones')]]);
    expect(await change({ country: 'de', state: 'by', zones: ['cet'] })).toEqual([200, []]);
    expect(await change({ state: null, zones: [], country: 'va' })).toEqual([200, []]);
    const upsert = { query: 'on_conflict=key', body: { key: 'd', state: 'by' } };
    expect((await records.call(createRecords, address, upsert)).problems).toEqual([misfit('state')]);
  });
});

const tasks: CollectionDefinition = {
  name: 'tasks',
  fields: [
    { name: 'title', type: 'EXTERNAL_ID' },
    { name: 'days', type: 'INTEGER', default: 14, constraints: { maxValue: 100 } },
    { name: 'start', type: 'DATE', defaultFormula: 'TODAY()' },
    { name: 'due', type: 'DATE', required: true, defaultFormula: 'start + days' },
    { name: 'label', type: 'STRING', defaultFormula: "UPPER(title) + '!'" },
    { name: 'cost', type: 'CURRENCY', defaultFormula: 'days * 12.5' },
    { name: 'twice', type: 'INTEGER', defaultFormula: 'days * 2', constraints: { maxValue: 100 } },
    { name: 'seen', type: 'DATETIME', immutable: true, defaultFormula: 'NOW()' },
  ],
};

describe.each(storageModes)('defaults by formula in %s', (storageMode) => {
  let task: CollectionModel;
  beforeAll(async () => {
    task = await records.define({ ...tasks, storageMode }, `defaults ${storageMode}`);
  });

  it('give new records the values that they lack', async () => {
    const body = [
      { title: 'a', start: '2026-01-30', days: 2 },
      { title: 'b', start: '2026-01-01', label: null, cost: 3 },
      { title: 'c' },
    ];
    const { json } = await records.call(createRecords, task, { body });
    const [a, b, c] = json.data;
    expect(a).toMatchObject({ due: '2026-02-01', label: 'A!', cost: 25, twice: 4 });
    expect(b).toMatchObject({ due: '2026-01-15', label: null, cost: 3, twice: 28 });
    expect(Math.abs(Date.parse(c.start) - Date.now())).toBeLessThan(2 * 86_400_000);
    expect(Date.parse(c.due) - Date.parse(c.start)).toBe(14 * 86_400_000);
    expect(Date.parse(c.seen)).not.toBeNaN();
  });

  it('are refused if the field does not allow them, or needs a value that they do not give', async () => {
    const { status, problems } = await records.call(createRecords, task, { body: [{ days: 51 }, { start: null }] });
    expect([status, problems]).toEqual([
      400,
      [expect.stringMatching(/^maxValue .*0.*twice$/), expect.stringMatching(/^nullable .*1.*due$/)],
    ]);
  });

  it('replace values in a PUT, and stay away from other changes', async () => {
    const { json } = await records.call(createRecords, task, { body: { title: 'd', start: '2026-01-01' } });
    const { id, seen } = json.data ?? json;
    const changed = await records.call(updateRecord, task, { id, body: { days: 1 } });
    expect(changed.json.data ?? changed.json).toMatchObject({ days: 1, due: '2026-01-15' });
    const upsert = { query: 'on_conflict=title', body: { title: 'd', days: 3 } };
    const { json: upserted } = await records.call(createRecords, task, upsert);
    expect(upserted.data ?? upserted).toMatchObject({ days: 3, due: '2026-01-15' });
    const put = await records.call(replaceRecord, task, { id, body: { title: 'd', start: '2026-05-01' } });
    expect(put.json.data ?? put.json).toMatchObject({ days: 14, due: '2026-05-15', seen });
  });
});
