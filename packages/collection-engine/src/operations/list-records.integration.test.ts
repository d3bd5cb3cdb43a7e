import { storageModes } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tableOf } from '../storage/field-expression.js';
import { CollectionStore } from '../store/collection-store.js';
import { collectionTestSchema } from '../testing/collection-tables.js';
import { testContext, testRequest } from '../testing/record-requests.js';
import { insertRows } from '../testing/record-rows.js';
import { aggregateRecords } from './aggregate-records.js';
import { getRecord } from './get-record.js';
import { listRecords } from './list-records.js';
import { searchTenantWith } from './search-tenant.js';
import { openShop, recordId, type Shop } from './shop.test.fixture.js';

interface Resource {
  readonly type: string;
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, { readonly data: unknown }>>;
}
interface Document {
  readonly data: readonly Resource[];
  readonly included?: readonly Resource[];
  readonly links: Readonly<Record<string, string | undefined>>;
  readonly meta: Readonly<Record<string, unknown>>;
}

let server: TestDatabase;
let database: Database;
const shops = new Map<string, Shop>();
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect();
  for (const mode of storageModes) shops.set(mode, await openShop(database, mode));
});
afterAll(() => server.drop());

describe.each(storageModes)('a list of records in storage mode %s', (mode) => {
  const shop = (): Shop => shops.get(mode) as Shop;
  const list = async (query: string, collection = 'orders'): Promise<Document> =>
    (await shop().call(listRecords, collection, { query })).body as Document;
  const numbers = async (query: string): Promise<unknown[]> =>
    (await list(query)).data.map(({ attributes }) => attributes['number']);

  it('shows records as JSON:API resources, in the order of their ids', async () => {
    const { data, links, meta } = await list('');
    expect(data.map(({ id }) => id)).toEqual([1, 2, 3, 4].map(recordId));
    expect(data[0]).toEqual({
      type: 'orders',
      id: recordId(1),
      attributes: {
        number: 'A1',
        status: 'new',
        total: 10.5,
        weight: 1.5,
        items: 1,
        express: true,
        due: '2026-01-05',
        placedAt: '2026-01-01T10:00:00.000Z',
        meta: { address: { city: 'Berlin', floor: 3 } },
        labels: ['a', 'b'],
        channels: ['web'],
        note: 'Fragile glass inside',
        double: 21,
        lineCount: 2,
        createdAt: expect.any(String) as string,
        updatedAt: expect.any(String) as string,
        createdBy: 'test',
        updatedBy: 'test',
        deletedAt: null,
      },
      relationships: { customer: { data: { type: 'customers', id: recordId(1) } } },
      meta: { version: 1 },
    });
    expect(data[2]?.relationships).toEqual({ customer: { data: null } });
    expect(links).toEqual({ self: '/api/orders', first: '/api/orders' });
    expect(meta).toEqual({ pageSize: 25, hasMore: false });
  });

  it('shows flat records', async () => {
    const { body } = await shop().call(listRecords, 'lines', {
      query: 'sort=-quantity&fields=product,order',
      context: { shape: 'flat' },
    });
    expect((body as Document).data).toEqual([
      { id: recordId(3), version: 1, product: 'lamp', order: recordId(2) },
      { id: recordId(1), version: 1, product: 'lamp', order: recordId(1) },
      { id: recordId(2), version: 1, product: 'desk', order: recordId(1) },
    ]);
  });

  it.each([
    ['filter[status][eq]=paid', ['A2', 'A3']],
    ['filter[status]=paid', ['A2', 'A3']],
    ['filter[status][_eq]=paid&filter[items][$gt]=2', ['A3']],
    ['filter[total][neq]=20', ['A1', 'A3']],
    ['filter[total][gte]=10.5&filter[total][lt]=20', ['A1']],
    ['filter[weight][between]=0.25,1.5', ['A1', 'A3']],
    ['filter[status][in]=new,sent', ['A1', 'B_4']],
    ['filter[status][in]=new&filter[status][in]=sent', ['A1', 'B_4']],
    ['filter[total][nin]=20', ['A1', 'A3']],
    ['filter[total][isnull]=true', ['A3']],
    ['filter[total][isnull]=false&filter[express][eq]=true', ['A1', 'B_4']],
    ['filter[number][contains]=_', ['B_4']],
    ['filter[number][starts]=A', ['A1', 'A2', 'A3']],
    ['filter[number][istarts]=b_', ['B_4']],
    ['filter[number][ends]=4', ['B_4']],
    ['filter[note][icontains]=GLASS', ['A1', 'B_4']],
    ['filter[number][ieq]=a1', ['A1']],
    ['filter[number][like]=A%25', ['A1', 'A2', 'A3']],
    ['filter[number][regex]=^[AB].?[14]$', ['A1', 'B_4']],
    ['filter[due][lte]=2026-01-06', ['A1', 'A2']],
    ['filter[placedAt][gt]=2026-01-02T11:00:00+02:00', ['A2', 'B_4']],
    ['filter[placedAt][eq]=2026-02-01', ['B_4']],
    ['filter[meta.address.city][eq]=Berlin', ['A1']],
    ['filter[meta.address.city][neq]=Berlin', ['A2', 'A3', 'B_4']],
    ['filter[meta.address.floor][gt]=3', ['A2']],
    ['filter[meta.address.floor][eq]=3', ['A1', 'B_4']],
    ['filter[meta][has]={"address":{"city":"Paris"}}', ['A2']],
    ['filter[labels][has]=b', ['A1', 'A2']],
    ['filter[labels][hasAny]=a,100%25', ['A1', 'B_4']],
    ['filter[channels][hasAll]=web,shop', ['A2']],
    ['filter[channels][has]=web', ['A1', 'A2']],
    ['filter[channels][hasAny]=phone,web', ['A1', 'A2', 'B_4']],
    ['filter[not][channels][hasAny]=shop', ['A1', 'A3', 'B_4']],
    ['filter[channels][eq]=["shop","web"]', ['A2']],
    ['filter[channels][neq]=["web"]', ['A2', 'A3', 'B_4']],
    ['filter[channels][isnull]=true', ['A3']],
    ['filter={"channels":{"hasAll":["web","shop"]}}', ['A2']],
    ['filter={"channels":{"eq":null}}', ['A3']],
    ['filter[note][search]=glass', ['A1', 'B_4']],
    ['filter[id][in]=' + [2, 4].map(recordId).join(','), ['A2', 'B_4']],
    ['filter[version][eq]=1&filter[createdBy][eq]=test&filter[number][eq]=A1', ['A1']],
    ['filter[or][0][status][eq]=sent&filter[or][1][items][lt]=2', ['A1', 'B_4']],
    ['filter[not][status][eq]=paid', ['A1', 'B_4']],
    [
      'filter[or][0][and][0][status][eq]=paid&filter[or][0][and][1][items][eq]=2&filter[or][1][number][eq]=B_4',
      ['A2', 'B_4'],
    ],
    ['filter={"or":[{"status":"sent"},{"items":{"in":[1,3]}}]}', ['A1', 'A3', 'B_4']],
    ['filter={"total":null}', ['A3']],
    ['filter[customer.country][eq]=DE', ['A1', 'B_4']],
    ['filter[customer][country][eq]=FR', ['A2']],
    ['filter[customer.parent.country][eq]=DE', ['A2']],
    ['filter[customer][isnull]=true', ['A3']],
    ['filter[lines.product][eq]=desk', ['A1']],
    ['filter[lines][isnull]=true', ['A3', 'B_4']],
    ['filter[not][lines.product][eq]=lamp', ['A3', 'B_4']],
    ['filter[customer.country][neq]=DE', ['A2', 'A3']],
    ['filter[not][customer.country][eq]=DE', ['A2', 'A3']],
    ['filter[customer.country][nin]=DE,IT', ['A2', 'A3']],
    ['filter[customer.parent.country][neq]=DE', ['A1', 'A3', 'B_4']],
    ['filter[customer.country][isnull]=true', ['A3']],
    ['filter[not][customer.country][isnull]=false', ['A3']],
    ['filter[customer.country][isnull]=false', ['A1', 'A2', 'B_4']],
    ['filter={"customer.parent":{"eq":null}}', ['A1', 'A3', 'B_4']],
    ['filter={"customer.parent":{"neq":null}}', ['A2']],
    ['filter[lines.product][neq]=lamp', ['A3', 'B_4']],
    ['filter[lines.quantity][nin]=1,7', ['A2', 'A3', 'B_4']],
    ['filter[double][eq]=40', ['A2', 'B_4']],
    ['filter[lineCount][gte]=1&sort=-lineCount', ['A1', 'A2']],
    ['search=glass door', ['B_4']],
    ['search=glass -door', ['A1']],
    ['deleted=only', ['X']],
    ['deleted=with&sort=-id&page[size]=2', ['X', 'B_4']],
  ])('finds %s', async (query, expected) => {
    expect(await numbers(query.replaceAll('+', '%2B'))).toEqual(expected);
  });

  it.each([
    ['sort=total', ['A1', 'A2', 'B_4', 'A3']],
    ['sort=-total', ['B_4', 'A2', 'A1', 'A3']],
    ['sort=-total,number', ['A2', 'B_4', 'A1', 'A3']],
    ['sort=weight', ['A3', 'A1', 'B_4', 'A2']],
    ['sort=-weight', ['B_4', 'A1', 'A3', 'A2']],
    ['sort=-placedAt', ['B_4', 'A2', 'A1', 'A3']],
    ['sort=customer.name,-number', ['B_4', 'A1', 'A2', 'A3']],
    ['sort=-id', ['B_4', 'A3', 'A2', 'A1']],
  ])('sorts by %s, records without a value last, the same over pages in both directions', async (query, expected) => {
    expect(await numbers(query)).toEqual(expected);
    const forward: unknown[] = [];
    const seen: Document[] = [];
    for (let next: string | undefined = `?${query}&page[size]=1`; next !== undefined; ) {
      const page: Document = await list(next.slice(next.indexOf('?') + 1));
      seen.push(page);
      forward.push(...page.data.map(({ attributes }) => attributes['number']));
      next = page.links['next'];
    }
    expect(forward).toEqual(expected);
    const backward: unknown[] = [];
    for (let prev = seen.at(-1)?.links['prev']; prev !== undefined; ) {
      const page = await list(prev.slice(prev.indexOf('?') + 1));
      backward.unshift(...page.data.map(({ attributes }) => attributes['number']));
      prev = page.links['prev'];
    }
    expect(backward).toEqual(expected.slice(0, -1));
  });

  it('counts only on request, and numbered pages up to a limit', async () => {
    expect((await list('page[size]=2')).meta).not.toHaveProperty('total');
    expect((await list('page[number]=2&page[size]=3')).meta).toEqual({
      pageSize: 3,
      hasMore: false,
      currentPage: 2,
      totalPages: 2,
      total: 4,
      totalIsEstimate: false,
    });
    expect((await list('count=exact&filter[status]=paid&page[size]=1')).meta).toMatchObject({
      total: 2,
      hasMore: true,
    });
    expect((await list('count=planned')).meta).toMatchObject({
      total: expect.any(Number) as number,
      totalIsEstimate: true,
    });
    expect(await numbers('page[number]=2&page[size]=3&sort=-total')).toEqual(['A3']);
  });

  it('includes related records once, over several levels and in both directions', async () => {
    const { data, included = [] } = await list('include=customer.parent,lines&sort=number&fields[customers]=name');
    expect(included.map(({ type, id }) => [type, Number(id.slice(-3))])).toEqual([
      ['customers', 1],
      ['customers', 2],
      ['lines', 1],
      ['lines', 2],
      ['lines', 3],
    ]);
    expect(included[0]).toMatchObject({ attributes: { name: 'Ada' } });
    expect(included[0]?.attributes).toEqual({ name: 'Ada' });
    expect(data[0]?.relationships?.['lines']).toEqual({
      data: [1, 2].map((number) => ({ type: 'lines', id: recordId(number) })),
    });
    expect(data[3]?.relationships?.['lines']).toEqual({ data: [] });
    expect(await list('filter[number]=A3&include=customer')).toMatchObject({ included: [] });
    for (const query of ['sort=-number', 'sort=-number&page[size]=2', 'sort=total']) {
      const [alone, withCustomers] = [await list(query), await list(`${query}&include=customer`)];
      expect(withCustomers.data.map(({ id }) => id)).toEqual(alone.data.map(({ id }) => id));
    }
  });

  it('embeds related records in flat ones', async () => {
    const { body } = await shop().call(listRecords, 'customers', {
      query:
        'include=branches,parent,orders.lines&fields[customers]=name&fields[orders]=number&fields[lines]=product&page[size]=2',
      context: { shape: 'flat' },
    });
    const line = (number: number, product: string): unknown => ({ id: recordId(number), version: 1, product });
    expect((body as Document).data).toEqual([
      {
        id: recordId(1),
        version: 1,
        name: 'Ada',
        parent: null,
        branches: [
          { id: recordId(2), version: 1, name: 'Bob' },
          { id: recordId(3), version: 1, name: 'Cleo 100%' },
        ],
        orders: [
          { id: recordId(1), version: 1, number: 'A1', lines: [line(1, 'lamp'), line(2, 'desk')] },
          { id: recordId(4), version: 1, number: 'B_4', lines: [] },
        ],
      },
      {
        id: recordId(2),
        version: 1,
        name: 'Bob',
        parent: { id: recordId(1), version: 1, name: 'Ada' },
        branches: [],
        orders: [{ id: recordId(2), version: 1, number: 'A2', lines: [line(3, 'lamp')] }],
      },
    ]);
  });

  it('does not include records that are on the page itself', async () => {
    const { included = [] } = await list('include=parent,branches', 'customers');
    expect(included).toEqual([]);
  });

  it('lists the children of one record, and none of a record that does not exist', async () => {
    const field = shop().model('lines').fields.get('order');
    const children = async (id: string) =>
      shop().call(listRecords, 'lines', {
        query: 'fields=product',
        parent: { collection: shop().model('orders'), id, ...(field && { field }) } as never,
      });
    const { body } = await children(recordId(1));
    expect((body as Document).data.map(({ attributes }) => attributes['product'])).toEqual(['lamp', 'desk']);
    await expect(children(recordId(77))).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
    await expect(children('x')).rejects.toMatchObject({ code: 'RECORD_NOT_FOUND' });
  });

  it('shows encrypted values, and finds them by their presence only', async () => {
    const { data } = await list('filter[taxNumber][isnull]=false', 'customers');
    expect(data.map(({ attributes }) => attributes['taxNumber'])).toEqual(['DE "123"']);
    const forged = 'drover:sealed:00000000-0000-7000-8000-000000000001:x:00';
    const line = { id: recordId(50), values: { order: recordId(4), product: forged, quantity: 0 } };
    await insertRows(database, shop().model('lines'), [line]);
    const { data: lines } = await list('filter[quantity][eq]=0', 'lines');
    expect(lines.map(({ attributes }) => attributes['product'])).toEqual([forged]);
    await database.query(`delete from ${tableOf(shop().model('lines')).render().text} where id = $1`, [recordId(50)]);
    await expect(list('filter[taxNumber][eq]=DE', 'customers')).rejects.toMatchObject({ code: 'INVALID_QUERY' });
  });

  it('searches all collections that the caller may read, the best records first', async () => {
    const { dependencies } = shop();
    const tenantId = `shop-${mode}`;
    let queries = 0;
    const counting = {
      transaction: database.transaction.bind(database),
      query: ((statement, values) => {
        queries += 1;
        return database.query(statement, values);
      }) as Database['query'],
    };
    const store = new CollectionStore({
      database: Object.assign(Object.create(database) as Database, counting),
      bus: { publish: () => Promise.resolve() },
    });
    const operation = searchTenantWith(store);
    const search = async (query: string, mayRead: (model: { readonly name: string }) => boolean = () => true) => {
      const context = testContext({ tenantId, shape: 'flat', access: { mayRead, mayWrite: () => false } });
      const request = testRequest({ path: '/api/_search', query });
      const answer = await operation(context, request, { ...dependencies, database: counting });
      return (JSON.parse(answer.body as string) as { data: { type: string; display: string }[] }).data;
    };
    const both = await search('q=ada or door');
    expect(both.map(({ type, display }) => `${type} ${display}`).toSorted()).toEqual([
      'customers ada@a.example',
      'orders Leave at the door',
      'orders glass door',
    ]);
    expect(await search('q=ada or door', ({ name }) => name === 'customers')).toHaveLength(1);
    expect(await search('q=door&limit=1')).toHaveLength(1);
    expect(queries).toBe(4); // each search is one, but for the definitions, which the first one reads
    const versionOf = (change: number) =>
      database.query(
        `with changed as (update drover.collections set version = version + $2 where tenant_id = $1 and name = 'orders' returning *)
         select id, version from changed`,
        [tenantId, change],
      );
    const [orders] = await versionOf(1);
    await database.query(
      `insert into drover.collection_versions
       select collection_id, $2, jsonb_set(definition, '{api}', '{"list": false}'), table_name, columns, now(), created_by
       from drover.collection_versions where collection_id = $1 order by version desc limit 1`,
      [orders?.['id'], orders?.['version']],
    );
    expect((await search('q=ada or door')).map(({ type }) => type)).toEqual(['customers']); // by the new definition
    await versionOf(-1);
    await expect(search('q=')).rejects.toMatchObject({ code: 'INVALID_QUERY' });
    await expect(search('q=a&limit=101')).rejects.toMatchObject({ code: 'INVALID_QUERY' });
  });

  it('sees no record of another tenant', async () => {
    const { body } = await shop().call(listRecords, 'orders', { context: { tenantId: 'other' } });
    expect((body as Document).data).toEqual([]);
  });

  it.each([
    ['', [{ count: 4 }]],
    [
      'group=status&agg[*]=count&agg[total]=sum,max:highest',
      [
        { status: 'new', count: 1, sum_total: 10.5, highest: 10.5 },
        { status: 'paid', count: 2, sum_total: 20, highest: 20 },
        { status: 'sent', count: 1, sum_total: 20, highest: 20 },
      ],
    ],
    [
      'group=status&agg[items]=avg&having[avg_items][gt]=2&sort=-avg_items',
      [
        { status: 'sent', avg_items: 10 },
        { status: 'paid', avg_items: 2.5 },
      ],
    ],
    [
      'group=placedAt:month&filter[placedAt][isnull]=false',
      [
        { placedAt_month: '2026-01-01', count: 2 },
        { placedAt_month: '2026-02-01', count: 1 },
      ],
    ],
    ['group=due:year,express&agg[id]=count:n&sort=-n&page[size]=1', [{ due_year: '2026-01-01', express: true, n: 2 }]],
    [
      'agg[placedAt]=min&agg[due]=max&agg[customer]=countDistinct',
      [{ min_placedAt: '2026-01-01T10:00:00.000Z', max_due: '2026-02-01', countDistinct_customer: 2 }],
    ],
    [
      'group=customer&filter[lines][isnull]=false&having={"or":[{"count":{"gte":1}}]}',
      [
        { customer: recordId(1), count: 1 },
        { customer: recordId(2), count: 1 },
      ],
    ],
    ['filter[total][gt]=999&agg[total]=sum', [{ sum_total: null }]],
    // PostgreSQL cuts names to 63 bytes: both would be the same.
    [
      `agg[total]=min:${'é'.repeat(60)}min,max:${'é'.repeat(60)}max`,
      [{ [`${'é'.repeat(60)}min`]: expect.any(Number), [`${'é'.repeat(60)}max`]: 20 }],
    ],
  ])('aggregates %s', async (query, expected) => {
    const { body } = await shop().call(aggregateRecords, 'orders', { query });
    expect((body as Document).data).toEqual(expected);
  });

  it('gets a record by its id, or by its unique display field, with its version as ETag', async () => {
    const found = await shop().call(getRecord, 'customers', {
      id: recordId(2),
      query: 'include=parent&fields[customers]=name',
    });
    expect(found).toMatchObject({
      status: 200,
      headers: { etag: '"1"', 'content-type': 'application/vnd.api+json' },
      body: { data: { id: recordId(2), attributes: { name: 'Bob' } }, included: [{ id: recordId(1) }] },
    });
    const byEmail = await shop().call(getRecord, 'customers', { id: 'ada@a.example', context: { shape: 'flat' } });
    expect(byEmail.body).toMatchObject({ id: recordId(1), name: 'Ada', parent: null });
    const unchanged = await shop().call(getRecord, 'customers', {
      id: recordId(2),
      headers: { 'if-none-match': '"7" , W/"1"' },
    });
    expect(unchanged).toMatchObject({ status: 304, body: undefined });
    const compressed = { id: recordId(2), headers: { 'if-none-match': '"7-br", "1-gzip"' } };
    expect(await shop().call(getRecord, 'customers', compressed)).toMatchObject({
      status: 304,
      headers: { etag: '"1-gzip"' },
    });
  });

  it('does not find records that are deleted, foreign or absent', async () => {
    const notFound = { code: 'RECORD_NOT_FOUND', status: 404 };
    await expect(shop().call(getRecord, 'orders', { id: recordId(9) })).rejects.toMatchObject(notFound);
    await expect(shop().call(getRecord, 'orders', { id: 'A1' })).rejects.toMatchObject(notFound);
    await expect(
      shop().call(getRecord, 'orders', { id: recordId(1), context: { tenantId: 'other' } }),
    ).rejects.toMatchObject(notFound);
    const deleted = await shop().call(getRecord, 'orders', { id: recordId(9), query: 'deleted=with' });
    expect(deleted.body).toMatchObject({
      data: { attributes: { number: 'X', deletedAt: '2026-03-01T00:00:00.000Z' } },
    });
  });
});
