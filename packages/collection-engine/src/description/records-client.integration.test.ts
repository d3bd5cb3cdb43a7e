import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { recordsClient } from './records-client.js';
import { shopDefinitions } from './shop.test.fixture.js';

/** What users write against the client: every line with a comment must not compile, all others must. */
const usage = `
import { createRecordsClient, RecordsError, searchRecords, type NewOrders, type Orders } from './records.js';

export async function use(fetch: typeof globalThis.fetch): Promise<unknown[]> {
  const records = createRecordsClient({ url: 'http://127.0.0.1:7070/', apiKey: 'drv_a_b', fetch });
  const order: NewOrders = { customer: 'c1', tags: ['a'], place: { latitude: 1, longitude: 2 }, 'placed-at': null };
  // @ts-expect-error the customer is missing
  const none: NewOrders = { tags: [] };
  // @ts-expect-error no value of the picklist
  const unknown: NewOrders = { customer: 'c1', status: 'closed' };
  // @ts-expect-error computed by the platform
  const computed: NewOrders = { customer: 'c1', big: true };
  void [none, unknown, computed];
  const created: Orders = await records.orders.create(order, { idempotencyKey: 'k1' });
  const version: number = created.version;
  await records.orders.update(created.id, { total: 7 }, { version });
  const page = await records.orders.list({
    filter: { or: [{ status: { eq: 'open' } }, { total: { gte: 3 } }], 'customer.name': { starts: 'A' } },
    sort: ['-total', 'number'],
    include: ['customer'],
    size: 2,
    count: 'exact',
  });
  // @ts-expect-error a number is compared with a number
  void (() => records.orders.list({ filter: { total: { gt: 'much' } } }));
  // @ts-expect-error no such relation
  void (() => records.orders.list({ include: ['customers'] }));
  const names: (string | undefined)[] = page.records.map(({ customer }) => customer.name);
  const ids: string[] = [];
  for await (const { id, customer } of records.orders.all({ size: 1 })) ids.push(id + customer.slice(0, 1));
  const [size] = (await records['größen-2²'].list({ include: ['children', 'parent'] })).records;
  const children: number | undefined = size?.children[0]?.größe;
  const parent: number | undefined = size?.parent?.größe;
  await records.customers.upsert({ name: 'x' }, 'name');
  const rows = await records.orders.aggregate({
    values: { orders: 'count', revenue: { sum: 'total' } },
    group: ['status'],
    filter: { total: { gt: 1 } },
    having: { revenue: { gte: 10 } },
    sort: ['-revenue'],
  });
  const sums: (readonly [string | null | undefined, number | string | null])[] = rows.map(({ status, revenue }) => [status, revenue]);
  const largest = await records.orders.aggregate({ values: { orders: 'count' }, group: ['status'], size: 1 });
  // @ts-expect-error no such value
  void rows.map(({ profit }) => profit);
  // @ts-expect-error no such field
  void (() => records.orders.aggregate({ values: { most: { max: 'totals' } } }));
  const restored: Orders = await records.orders.restore('o1');
  const history: number[] = [];
  for await (const { version: number, record } of records.orders.history('o1')) history.push(number + (record?.total ?? 0));
  const former: Orders = await records.orders.restoreVersion('o1', 2);
  const found = await searchRecords({ url: 'http://127.0.0.1:7070', apiKey: 'drv_a_b', fetch }, 'door', { limit: 3 });
  const searched = (await records.orders.list({ search: 'door' })).records.length;
  const changes: string[] = [];
  let resets = 0;
  for await (const { kind, position, after } of records.orders.stream({ since: '5', filter: { total: { gt: 1 } }, onReset: () => (resets += 1) })) {
    changes.push([kind, position, after?.total].join());
    if (changes.length === 3) break;
  }
  const more = [sums, largest.length, restored.version, history, former.version, found.map(({ type, id }) => type + id), searched, changes, resets];
  const failed = await records.customers.delete('gone').catch((error: unknown) => error);
  return [page.total, page.next, names, ids, children, parent, failed instanceof RecordsError && [failed.status, failed.message], more];
}
`;

const options = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noImplicitOverride: true,
  noUnusedLocals: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  erasableSyntaxOnly: true,
  noPropertyAccessFromIndexSignature: true,
  target: 'es2022',
  module: 'nodenext',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: [],
  outDir: 'built',
};

/** Answers of the platform, by method and path; the requests that came are recorded. */
function platform(requests: string[]): typeof fetch {
  const answers: Readonly<Record<string, readonly [number, unknown]>> = {
    'POST /api/orders': [201, { id: 'o1', version: 4 }],
    'PATCH /api/orders/o1': [200, { id: 'o1', version: 5 }],
    'GET /api/orders?include=customer': [
      200,
      { data: [{ customer: { name: 'Ann' } }], meta: { total: 9, nextCursor: 'n' } },
    ],
    'GET /api/orders': [200, { data: [{ id: 'o1', customer: 'c1' }], meta: { nextCursor: 'two' } }],
    'GET /api/orders?page%5Bafter%5D=two': [200, { data: [{ id: 'o2', customer: 'd1' }], meta: {} }],
    'GET /api/gr%C3%B6%C3%9Fen-2%C2%B2?include=children%2Cparent': [
      200,
      { data: [{ children: [{ größe: 3 }], parent: null }] },
    ],
    'POST /api/customers': [200, {}],
    'GET /api/orders/aggregate': [200, { data: [{ status: 'open', orders: 2, revenue: 12 }], meta: { hasMore: true } }],
    'GET /api/orders/aggregate?page%5Bnumber%5D=2': [
      200,
      { data: [{ status: 'paid', orders: 1, revenue: 3 }], meta: { hasMore: false } },
    ],
    'POST /api/orders/o1/restore': [200, { id: 'o1', version: 6 }],
    'GET /api/orders/o1/versions': [
      200,
      {
        data: [
          { version: 3, record: { total: 100 } },
          { version: 2, record: null },
        ],
        meta: { hasMore: true },
      },
    ],
    'GET /api/orders/o1/versions?before=2': [200, { data: [{ version: 1, record: {} }], meta: { hasMore: false } }],
    'POST /api/orders/o1/versions/2/restore': [200, { id: 'o1', version: 7 }],
    'GET /api/_search?q=door&limit=3': [200, { data: [{ type: 'orders', id: 'o1', display: 'A', rank: 1 }] }],
    'GET /api/orders?search=door': [200, { data: [{ id: 'o1' }], meta: {} }],
    'DELETE /api/customers/gone': [404, { errors: [{ code: 'RECORD_NOT_FOUND', detail: 'It is gone.' }] }],
  };
  // The first connection breaks in the middle of an event.
  const streams = [
    'retry: 1\nid: 5\n\nid: 6\nevent: created\ndata: {"kind":"created","position":"6","after":{"total":2}}\n\n: keep-alive\nid: 8\n\nid: 9\nevent: upd',
    'event: reset\ndata: {}\n\nid: 9\nevent: updated\ndata: {"kind":"updated","position":"9","after":null}\n\nid: 10\nevent: deleted\ndata: {"kind":"deleted","position":"10","after":null}\n\n',
  ];
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = new Headers(init?.headers);
    requests.push(
      `${init?.method} ${url.pathname} ${[...url.searchParams].map(([name, value]) => `${name}=${value}`).join(' ')} ${['if-match', 'idempotency-key', 'last-event-id'].flatMap((name) => headers.get(name) ?? []).join()} ${(init?.body as string | undefined) ?? ''}`.trim(),
    );
    if (url.pathname === '/api/orders/stream') return Promise.resolve(new Response(streams.shift() ?? ''));
    for (const name of [
      'shape',
      'filter',
      'group',
      'agg[*]',
      'agg[total]',
      'having[revenue][gte]',
      'sort',
      'page[size]',
      'count',
      'on_conflict',
    ])
      url.searchParams.delete(name);
    const [status, body] = answers[`${init?.method} ${url.pathname}${url.search}`] ?? [500, {}];
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  };
}

describe('recordsClient', () => {
  it('compiles with the strictest options, refuses what the API would refuse, and calls the API', () =>
    withScratchDirectory(async (directory) => {
      const source = recordsClient(shopDefinitions);
      expect(recordsClient(shopDefinitions)).toBe(source);
      await mkdir(path.join(directory, 'src'));
      await writeFile(path.join(directory, 'package.json'), '{"type":"module"}');
      await writeFile(path.join(directory, 'src', 'records.ts'), source);
      await writeFile(path.join(directory, 'src', 'usage.ts'), usage);
      const project = { compilerOptions: { ...options, rootDir: 'src' }, include: ['src'] };
      await writeFile(path.join(directory, 'tsconfig.json'), JSON.stringify(project));
      const compiler = path.resolve('node_modules', '.bin', 'tsc');
      const compiled = await promisify(execFile)(compiler, ['-p', directory]).catch((error: unknown) => error);
      expect((compiled as { readonly stdout: string }).stdout).toBe('');

      const built = pathToFileURL(path.join(directory, 'built', 'usage.js')).href;
      const { use } = (await import(built)) as { readonly use: (send: typeof fetch) => Promise<unknown[]> };
      const requests: string[] = [];
      expect(await use(platform(requests))).toEqual([
        9,
        'n',
        ['Ann'],
        ['o1c', 'o2d'],
        3,
        undefined,
        [404, 'It is gone.'],
        [
          [
            ['open', 12],
            ['paid', 3],
          ],
          1,
          6,
          [103, 2, 1],
          7,
          ['orderso1'],
          1,
          ['created,6,2', 'updated,9,', 'deleted,10,'],
          1,
        ],
      ]);
      expect(requests.slice(0, 3)).toEqual([
        'POST /api/orders shape=flat k1 {"customer":"c1","tags":["a"],"place":{"latitude":1,"longitude":2},"placed-at":null}',
        'PATCH /api/orders/o1 shape=flat "4" {"total":7}',
        'GET /api/orders include=customer filter={"or":[{"status":{"eq":"open"}},{"total":{"gte":3}}],"customer.name":{"starts":"A"}} sort=-total,number page[size]=2 count=exact shape=flat',
      ]);
      expect(requests).toContain('POST /api/customers on_conflict=name shape=flat  {"name":"x"}');
      expect(requests).toContain(
        'GET /api/orders/aggregate agg[*]=count:orders agg[total]=sum:revenue having[revenue][gte]=10 group=status filter={"total":{"gt":1}} sort=-revenue shape=flat',
      );
      expect(requests.filter((request) => request.includes('/stream'))).toEqual([
        'GET /api/orders/stream since=5 filter={"total":{"gt":1}} shape=flat',
        'GET /api/orders/stream filter={"total":{"gt":1}} shape=flat 8',
      ]);
    }));
});
