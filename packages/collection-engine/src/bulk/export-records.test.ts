import { describe, expect, it } from 'vitest';
import { compileCollection } from '../model/compile-collection.js';
import type { OperationDependencies, RecordOperation, RecordRequest } from '../request/record-operation.js';
import { defaultRecordLimits, type RecordContext } from '../request/record-context.js';
import { exportRecordsWith } from './export-records.js';

const orders = compileCollection({
  id: 'c',
  tenantId: 't',
  version: 1,
  definition: { name: 'orders', fields: [{ name: 'note', type: 'TEXT' }] },
  table: 'orders',
  columns: {},
});
const context: RecordContext = {
  tenantId: 't',
  actor: 'a',
  access: { mayRead: () => true, mayWrite: () => true },
  limits: defaultRecordLimits,
  shape: 'jsonapi',
};
const request = (query: string, signal = new AbortController().signal): RecordRequest => ({
  path: '/api/orders/export',
  query,
  headers: {},
  id: undefined,
  version: undefined,
  parent: undefined,
  body: Buffer.alloc(0),
  upload: undefined,
  signal,
});

/** A list of three pages, which notes the queries that it gets. */
function listOf(queries: string[]): RecordOperation {
  const pages = [
    [{ id: '1', note: null, on: true }],
    [{ id: '2', note: '', on: { a: 1 } }],
    [{ id: '3', note: 'a;"b"\n', on: 4 }],
  ];
  return ({ shape }, _, { query }) => {
    queries.push(`${shape} ${decodeURIComponent(query)}`);
    const at = queries.length;
    const links = at < pages.length ? { next: `/api/orders?page%5Bafter%5D=${at}` } : {};
    return Promise.resolve({ status: 200, headers: {}, body: JSON.stringify({ data: pages[at - 1], links }) });
  };
}

const none = {} as OperationDependencies; // the list of the test reads nothing

async function textOf(answer: ReturnType<RecordOperation>): Promise<string> {
  const { body } = await answer;
  let text = '';
  for await (const part of body as AsyncIterable<string>) text += part;
  return text;
}

describe('an export', () => {
  it('has the records of all pages as JSON lines', async () => {
    const queries: string[] = [];
    const text = await textOf(exportRecordsWith(listOf(queries))(context, orders, request('filter[note]=x'), none));
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id),
    ).toEqual(['1', '2', '3']);
    expect(queries).toEqual([
      'flat filter[note]=x&page[size]=1000&count=none',
      'flat page[after]=1',
      'flat page[after]=2',
    ]);
  });

  it('tells no value from an empty text in CSV', async () => {
    const answer = exportRecordsWith(listOf([]))(context, orders, request('format=csv&delimiter=;'), none);
    expect(await textOf(answer)).toBe('id;note;on\n1;;true\n2;"";"{""a"":1}"\n3;"a;""b""\n";4\n');
  });

  it('reads no further page when the client has left', async () => {
    const leaving = new AbortController();
    const queries: string[] = [];
    const { body } = await exportRecordsWith(listOf(queries))(context, orders, request('', leaving.signal), none);
    const pages = (body as AsyncIterable<string>)[Symbol.asyncIterator]();
    await pages.next();
    leaving.abort(new Error('left'));
    await expect(pages.next()).rejects.toThrow('left');
    expect(queries).toHaveLength(1);
  });

  it('refuses parameters of pages and unknown formats, all at once', async () => {
    const exporting = exportRecordsWith(listOf([]))(
      context,
      orders,
      request('page[size]=3&format=xml&include=a'),
      none,
    );
    await expect(exporting).rejects.toMatchObject({
      code: 'INVALID_QUERY',
      details: {
        problems: [
          { source: { parameter: 'page[size]' } },
          { source: { parameter: 'include' } },
          { source: { parameter: 'format' } },
        ],
      },
    });
  });
});
