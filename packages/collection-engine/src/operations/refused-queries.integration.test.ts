import { storageModes } from '@drover/contracts';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filterOperators } from '../parse/operators.js';
import { writeCursor } from '../plan/cursor.js';
import { defaultRecordLimits } from '../request/record-context.js';
import type { RecordOperation, RecordRequest } from '../request/record-operation.js';
import { collectionTestSchema } from '../testing/collection-tables.js';
import { aggregateRecords } from './aggregate-records.js';
import { getRecord } from './get-record.js';
import { listRecords } from './list-records.js';
import { openShop, recordId, type Shop } from './shop.test.fixture.js';

let server: TestDatabase;
let shops: readonly Shop[];
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  const database = await server.connect();
  shops = [await openShop(database, storageModes[0]), await openShop(database, storageModes[1])];
});
afterAll(() => server.drop());

const shop = (): Shop => shops[0] as Shop;
const problem = (parameter: string, detail: string): unknown => ({
  code: 'INVALID_QUERY',
  status: 400,
  details: { problems: [{ source: { parameter }, detail: expect.stringContaining(detail) as string }] },
});

describe('a filter over a picklist of several values', () => {
  it.each([
    ['filter[channels][eq]=web', 'filter[channels][eq]', 'a JSON array of texts'],
    ['filter[channels][eq]={"a":1}', 'filter[channels][eq]', 'a JSON array of texts'],
    ['filter[channels][neq]=[1]', 'filter[channels][neq]', 'a JSON array of texts'],
    ['filter={"channels":{"has":5}}', 'filter', 'Send texts'],
    ['filter={"channels":{"hasAny":["web",null]}}', 'filter', 'Send texts'],
    ['filter[channels.0][eq]=web', 'filter[channels.0][eq]', 'has no operator or field "0"'],
    ['filter[channels][in]=web', 'filter[channels][in]', 'cannot be compared with "in"'],
  ])('is refused alike in both storage modes: %s', async (query, parameter, detail) => {
    for (const each of shops)
      await expect(each.call(listRecords, 'orders', { query })).rejects.toMatchObject(
        problem(parameter, detail) as object,
      );
  });
});

describe('a query that cannot be right', () => {
  it.each([
    ['filter[statsu][eq]=paid', 'filter[statsu][eq]', 'has no field "statsu". Did you mean "status"?'],
    ['filter[status][equals]=paid', 'filter[status][equals]', 'has no operator or field "equals"'],
    ['filter[status][contians]=paid', 'filter[status][contians]', 'Did you mean "contains"?'],
    ['filter[items][contains]=1', 'filter[items][contains]', 'cannot be compared with "contains"'],
    ['filter[items][eq]=many', 'filter[items][eq]', '"many" is not a value of "items". Send a whole number.'],
    ['filter[items][eq]=99999999999999999999', 'filter[items][eq]', 'whole number'],
    ['filter[total][gt]=NaN', 'filter[total][gt]', 'Send a number'],
    ['filter[express][eq]=maybe', 'filter[express][eq]', 'true or false'],
    ['filter[due][eq]=2026-02-30', 'filter[due][eq]', 'a date such as'],
    ['filter[placedAt][eq]=yesterday', 'filter[placedAt][eq]', 'a time such as'],
    ['filter[customer][eq]=ada', 'filter[customer][eq]', 'an id (UUID)'],
    ['filter[total][between]=1', 'filter[total][between]', 'two values'],
    [
      'filter[customer.contry][eq]=DE',
      'filter[customer.contry][eq]',
      'The collection "customers" has no field "contry". Did you mean "country"?',
    ],
    ['filter[number][regex]=(', 'filter', 'invalid regular expression'],
    ['filter[number][like]=A%5C', 'filter[number][like]', 'does not end with a backslash'],
    ['sort=totel', 'sort', 'Did you mean "total"?'],
    ['sort=meta', 'sort', 'cannot be sorted by "meta"'],
    ['sort=lines.product', 'sort', 'does not lead to one value'],
    ['fields=numbr', 'fields', 'Did you mean "number"?'],
    ['fields[customers]=name', 'fields[customers]', 'no records of the type "customers"'],
    ['include=custmer', 'include', 'has no relation "custmer". Did you mean "customer"?'],
    ['page[after]=xyz', 'page[after]', 'The cursor is damaged'],
    [
      `sort=total&page[after]=${writeCursor('-total,-id', JSON.stringify(['1', recordId(1)]))}`,
      'page[after]',
      'another order',
    ],
    [
      `sort=total&page[after]=${writeCursor('total,id', JSON.stringify(['abc', recordId(1)]))}`,
      'page[after]',
      'PostgreSQL refuses a value',
    ],
  ])('%s is refused with the parameter and what to do', async (query, parameter, detail) => {
    await expect(shop().call(listRecords, 'orders', { query })).rejects.toMatchObject(
      problem(parameter, detail) as object,
    );
  });

  it.each([
    ['group=meta', 'group', 'cannot be grouped by "meta"'],
    ['group=status:month', 'group', 'is no time'],
    ['agg[status]=sum', 'agg[status]', '"sum" cannot be computed of "status"'],
    ['agg[total]=sum&agg[items]=sum:sum_total', 'agg', 'Two columns have the name "sum_total"'],
    ['agg[total]=sum&having[sum_totel][gt]=1', 'having[sum_totel][gt]', 'Did you mean "sum_total"?'],
    ['sort=status', 'sort', 'The result has no column "status"'],
    ['page[after]=x', 'page[after]', 'no cursors'],
  ])('the aggregate %s is refused', async (query, parameter, detail) => {
    await expect(shop().call(aggregateRecords, 'orders', { query })).rejects.toMatchObject(
      problem(parameter, detail) as object,
    );
  });

  it('exceeds the number of included records, and is not cut', async () => {
    const limits = { ...defaultRecordLimits, included: 2 };
    const lines = (query: string) => shop().call(listRecords, 'orders', { query, context: { limits } });
    await expect(lines('include=lines')).rejects.toMatchObject({ code: 'RECORD_LIMIT_EXCEEDED' });
    await expect(lines('include=lines&page[size]=1')).resolves.toMatchObject({ status: 200 });
    await expect(lines('filter[customer.parent.parent.parent.name]=x')).rejects.toMatchObject({
      code: 'RECORD_LIMIT_EXCEEDED',
    });
  });
});

describe('access', () => {
  it.each(['include=customer', 'filter[customer.name]=Ada', 'sort=customer.name', 'include=lines'])(
    'to every collection that %s touches is asked for',
    async (query) => {
      const mayRead = ({ name }: { readonly name: string }): boolean => name === 'orders';
      const access = { mayRead, mayWrite: () => false };
      await expect(shop().call(listRecords, 'orders', { query, context: { access } })).rejects.toMatchObject({
        code: 'RECORD_ACCESS_DENIED',
        status: 403,
      });
      await expect(shop().call(listRecords, 'orders', { context: { access } })).resolves.toMatchObject({ status: 200 });
    },
  );

  it('to operations that the definition switches off is refused', async () => {
    const { dependencies, model } = shop();
    const closed = { ...model('orders'), api: { ...model('orders').api, list: false, get: false } };
    const call = (operation: RecordOperation) =>
      operation(
        {
          tenantId: 'shop-PHYSICAL_TABLE',
          actor: 'key',
          access: { mayRead: () => true, mayWrite: () => true },
          limits: defaultRecordLimits,
          shape: 'flat',
        },
        closed,
        { path: '/api/orders', query: '', headers: {}, id: recordId(1) } as RecordRequest,
        dependencies,
      );
    for (const operation of [listRecords, getRecord, aggregateRecords])
      await expect(call(operation)).rejects.toMatchObject({ code: 'OPERATION_NOT_OFFERED', status: 405 });
  });
});

describe('random bytes in any parameter', () => {
  const names = [
    'number',
    'status',
    'total',
    'weight',
    'items',
    'express',
    'due',
    'placedAt',
    'meta',
    'meta.a.b',
    'labels',
    'channels',
    'note',
    'customer',
    'customer.name',
    'lines.product',
    'id',
    'version',
    'createdAt',
    'createdBy',
    'double',
    'lineCount',
  ]; // prettier-ignore
  const bytes = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom(
      "'; drop table x; --",
      '1e400',
      '-0',
      '%',
      '\\',
      '((((',
      '[[:x:]]',
      '\u{10FFFF}',
      '{}',
      '[]',
      '1,2',
      '00000000-0000-0000-0000-000000000000',
      '2026-01-01',
      '9'.repeat(300),
      '<->',
      '"',
      ':*',
      '!',
    ),
  );
  const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: bytes });
  const parameter = fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(name, fc.constantFrom(...filterOperators), bytes)
        .map(([field, operator, value]) => [`filter[${field}][${operator}]`, value]),
    },
    { weight: 1, arbitrary: bytes.map((value) => ['filter', value]) },
    { weight: 1, arbitrary: fc.oneof(name, bytes).map((value) => ['sort', value]) },
    { weight: 1, arbitrary: bytes.map((value) => ['search', value]) },
    { weight: 1, arbitrary: bytes.map((value) => ['include', value]) },
    { weight: 1, arbitrary: bytes.map((value) => ['fields', value]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('size', 'number', 'after', 'before'), bytes)
        .map(([key, value]) => [`page[${key}]`, value]),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(fc.oneof(bytes, fc.constant(null)), { maxLength: 3 })
        .map((values) => ['page[after]', writeCursor('id', JSON.stringify(values))]),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom('count', 'deleted', 'shape', 'group', 'agg[*]', 'having'), bytes),
    },
  );
  it('never fail in the platform, and never become SQL', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(parameter, { minLength: 1, maxLength: 3 }), bytes, async (pairs, id) => {
        const query = pairs
          .map(([key = '', value = '']) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
          .join('&');
        for (const each of shops) {
          const statuses = await Promise.all(
            [
              each.call(listRecords, 'orders', { query }),
              each.call(aggregateRecords, 'orders', { query }),
              each.call(getRecord, 'customers', { id }),
            ].map((call) =>
              call.then(
                (answer) => answer.status,
                (error: { readonly status?: number; readonly message: string }) => error.status ?? error.message,
              ),
            ),
          );
          expect(statuses.filter((status) => ![200, 400, 404].includes(Number(status)))).toEqual([]);
        }
      }),
      { numRuns: 120, endOnFailure: true },
    );
    const intact = await shop().call(listRecords, 'orders', { query: 'count=exact' });
    expect(intact.body).toMatchObject({ meta: { total: 4 } });
  });
});
