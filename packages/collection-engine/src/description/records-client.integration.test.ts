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
import { createRecordsClient, RecordsError, type NewOrders, type Orders } from './records.js';

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
  const failed = await records.customers.delete('gone').catch((error: unknown) => error);
  return [page.total, page.next, names, ids, children, parent, failed instanceof RecordsError && [failed.status, failed.message]];
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
    'DELETE /api/customers/gone': [404, { errors: [{ code: 'RECORD_NOT_FOUND', detail: 'It is gone.' }] }],
  };
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = new Headers(init?.headers);
    requests.push(
      `${init?.method} ${url.pathname} ${[...url.searchParams].map(([name, value]) => `${name}=${value}`).join(' ')} ${['if-match', 'idempotency-key'].flatMap((name) => headers.get(name) ?? []).join()} ${(init?.body as string | undefined) ?? ''}`.trim(),
    );
    for (const name of ['shape', 'filter', 'sort', 'page[size]', 'count', 'on_conflict']) url.searchParams.delete(name);
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
      ]);
      expect(requests.slice(0, 3)).toEqual([
        'POST /api/orders shape=flat k1 {"customer":"c1","tags":["a"],"place":{"latitude":1,"longitude":2},"placed-at":null}',
        'PATCH /api/orders/o1 shape=flat "4" {"total":7}',
        'GET /api/orders include=customer filter={"or":[{"status":{"eq":"open"}},{"total":{"gte":3}}],"customer.name":{"starts":"A"}} sort=-total,number page[size]=2 count=exact shape=flat',
      ]);
      expect(requests.at(-2)).toBe('POST /api/customers on_conflict=name shape=flat  {"name":"x"}');
    }));
});
