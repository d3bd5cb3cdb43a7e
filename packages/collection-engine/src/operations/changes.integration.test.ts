import type { CollectionDefinition } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RecordEventTail } from '../events/record-event-tail.js';
import { openEventBench, orders, writeEvents, type EventBench } from '../events/record-events.test.fixture.js';
import type { CollectionModel } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import type { RecordOperation, RecordRequest } from '../request/record-operation.js';
import { defaultRecordLimits } from '../request/record-context.js';
import { createCollectionTables, testCollection } from '../testing/collection-tables.js';
import { testContext, testDependencies, testRequest } from '../testing/record-requests.js';
import { createRecords } from './create-records.js';
import { listChanges } from './list-changes.js';
import { streamChanges } from './stream-changes.js';
import { updateRecord } from './update-records.js';

let bench: EventBench;
let tail: RecordEventTail;
beforeAll(async () => {
  bench = await openEventBench();
  tail = await bench.tail();
});
afterAll(() => bench.close());

const definition: CollectionDefinition = {
  name: 'orders',
  fields: [
    { name: 'name', type: 'STRING' },
    { name: 'card', type: 'ENCRYPTED' },
  ],
};
const model = (over: Partial<CollectionDefinition> = {}): CollectionModel =>
  compileCollection({
    id: orders,
    tenantId: 'acme',
    version: 1,
    definition: { ...definition, ...over },
    table: 't',
    columns: {},
  });

/** Calls an operation as the collection worker does. */
async function call(
  operation: RecordOperation,
  request: Partial<RecordRequest>,
  { collection = model(), find = () => Promise.resolve(collection), mayRead = true } = {},
) {
  const context = {
    tenantId: 'acme',
    actor: 'key',
    access: { mayRead: () => mayRead, mayWrite: () => false },
    limits: defaultRecordLimits,
    shape: 'jsonapi' as const,
  };
  const given: RecordRequest = {
    path: '/api/orders/_changes',
    query: '',
    headers: {},
    id: undefined,
    version: undefined,
    parent: undefined,
    body: Buffer.alloc(0),
    upload: undefined,
    signal: new AbortController().signal,
    ...request,
  };
  return operation(context, collection, given, { ...testDependencies(bench.database, [collection]), find });
}

interface Changes {
  readonly data: { readonly position: string; readonly after: { readonly name: string } | null }[];
  readonly meta: { readonly next: string; readonly hasMore: boolean };
  readonly links: { readonly next: string };
}
async function changes(query: string, options?: Parameters<typeof call>[2]): Promise<Changes> {
  const { body } = await call(listChanges(tail), { query }, options);
  return JSON.parse(body as string) as Changes;
}
const names = ({ data }: Changes): (string | undefined)[] => data.map(({ after }) => after?.name);

describe('GET _changes', () => {
  it('reads from position to position, and names the next one also without a change', async () => {
    const { meta: start, data } = await changes('since=now');
    expect(data).toEqual([]);
    await writeEvents(bench.database, ['a', 'b', 'c']);
    const first = await changes(`since=${start.next}&page[size]=2`);
    expect([names(first), first.meta.hasMore]).toEqual([['a', 'b'], true]);
    expect(first.links.next).toBe(`/api/orders/_changes?since=${first.meta.next}&page[size]=2`);
    const second = await changes(`since=${first.meta.next}`);
    expect([names(second), second.meta.hasMore]).toEqual([['c'], false]);
    expect(await changes(`since=${second.meta.next}`)).toMatchObject({ data: [], meta: { next: second.meta.next } });
  });

  it('starts at a time, and at the oldest change without since', async () => {
    const [id] = await writeEvents(bench.database, ['old']);
    await bench.database.query(`update drover.record_events set at = now() - interval '1 hour' where id <= $1`, [id]);
    await writeEvents(bench.database, ['young']);
    const since = new Date(Date.now() - 1_800_000).toISOString();
    expect(names(await changes(`since=${since}`))).toEqual(['young']);
    expect(names(await changes('')).at(-2)).toBe('old');
  });

  it('shows no encrypted field', async () => {
    const { meta } = await changes('since=now');
    await bench.database.query(
      `insert into drover.record_events (tenant_id, collection_id, record_id, version, kind, after, actor)
       values ('acme', $1, gen_random_uuid(), 1, 'created', '{"name":"x","card":"\\\\xdeadbeef"}', 'key')`,
      [orders],
    );
    expect((await changes(`since=${meta.next}`)).data[0]).toMatchObject({ kind: 'created', after: { name: 'x' } });
    expect(JSON.stringify(await changes(`since=${meta.next}`))).not.toContain('card');
  });

  it('says that changes were removed, unless the collection keeps its history', async () => {
    const ids = await writeEvents(bench.database, ['a', 'b']);
    await bench.database.query('update drover.record_event_state set trimmed = $1', [ids[1]]);
    await expect(changes(`since=${ids[0]}`)).rejects.toMatchObject({ code: 'RECORD_CHANGES_EXPIRED', status: 410 });
    expect(names(await changes(`since=${ids[0]}`, { collection: model({ history: true }) }))).toEqual(['b']);
    expect((await changes('')).data.length).toBeGreaterThan(1);
    await bench.database.query('update drover.record_event_state set trimmed = 0');
  });

  it.each([
    ['since=yesterday', 'since', 'Send the position'],
    ['sinse=1', 'sinse', 'Did you mean "since"?'],
    ['page[size]=0', 'page[size]', 'whole number'],
    ['page[size]=%00', 'page[size]', 'whole number'],
  ])('refuses %s and says what to send', async (query, parameter, detail) => {
    await expect(changes(query)).rejects.toMatchObject({
      code: 'INVALID_QUERY',
      details: { problems: [{ source: { parameter }, detail: expect.stringContaining(detail) as string }] },
    });
  });

  it('is refused without the right to read, without events, and beyond the limit', async () => {
    await expect(changes('', { mayRead: false })).rejects.toMatchObject({ code: 'RECORD_ACCESS_DENIED' });
    await expect(changes('', { collection: model({ events: false }) })).rejects.toMatchObject({ status: 405 });
    await expect(changes('page[size]=1001')).rejects.toMatchObject({ code: 'RECORD_LIMIT_EXCEEDED' });
  });
});

/** Opens a stream and collects its text. */
async function stream(
  request: Partial<RecordRequest> = {},
  options: Parameters<typeof call>[2] = {},
  settings: Parameters<typeof streamChanges>[1] = {},
) {
  const abort = new AbortController();
  const answer = await call(streamChanges(tail, settings), { ...request, signal: abort.signal }, options);
  const seen = { text: '' };
  const done = (async () => {
    for await (const text of answer.body as AsyncIterable<string>) seen.text += text;
  })();
  return {
    answer,
    seen,
    done,
    names: () => [...seen.text.matchAll(/"after":\{"name": ?"(\w+)"/g)].map(([, name]) => name),
    ids: () => [...seen.text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)),
    async close() {
      abort.abort();
      await done;
    },
  };
}

describe('GET stream', () => {
  it('sends changes from now on, each with its position', async () => {
    await writeEvents(bench.database, ['before']);
    const open = await stream();
    expect(open.answer.headers['content-type']).toBe('text/event-stream');
    const ids = await writeEvents(bench.database, ['one', 'two']);
    tail.wrote();
    await eventually(() => expect(open.names()).toEqual(['one', 'two']));
    expect(open.ids().slice(1)).toEqual(ids);
    expect(open.seen.text).toContain('event: created\ndata: {"position":');
    await open.close();
  });

  it('resumes after Last-Event-ID, which comes before since', async () => {
    const [first = 0] = await writeEvents(bench.database, ['a', 'b', 'c']);
    const open = await stream({ headers: { 'last-event-id': String(first) }, query: 'since=0' });
    await eventually(() => expect(open.names()).toEqual(['b', 'c']));
    await open.close();
    await expect(stream({ headers: { 'last-event-id': 'abc' } })).rejects.toMatchObject({ code: 'INVALID_QUERY' });
  });

  it('keeps the connection and the position alive', async () => {
    const open = await stream({}, {}, { keepAliveMs: 10 });
    const [id] = await writeEvents(bench.database, ['of another'], '0190a000-0000-7000-8000-00000000000f');
    await eventually(() => expect(open.seen.text).toContain(`: keep-alive\nid: ${id}\n\n`));
    await open.close();
  });

  it('tells a client that was away for too long to load the records again', async () => {
    const ids = await writeEvents(bench.database, ['a', 'b']);
    await bench.database.query('update drover.record_event_state set trimmed = $1', [ids[1]]);
    const open = await stream({ query: `since=${ids[0]}` });
    await eventually(() => expect(open.seen.text).toContain('event: reset\n'));
    await open.close();
    await bench.database.query('update drover.record_event_state set trimmed = 0');
  });

  it('ends when the collection is removed', async () => {
    let isRemoved = false;
    const unknown = Object.assign(new Error('gone'), { code: 'COLLECTION_UNKNOWN' });
    const find = () => (isRemoved ? Promise.reject(unknown) : Promise.resolve(model()));
    const open = await stream({}, { find }, { keepAliveMs: 5 });
    await eventually(() => expect(open.seen.text).toContain('keep-alive'));
    isRemoved = true;
    await open.done;
  });

  it('is refused beyond the number of streams of a tenant', async () => {
    const operation = streamChanges(tail, { streamsPerTenant: 1 });
    const abort = new AbortController();
    const { body } = await call(operation, { signal: abort.signal });
    const reading = (body as AsyncGenerator<string>)[Symbol.asyncIterator]();
    await reading.next();
    await expect(call(operation, {})).rejects.toMatchObject({ code: 'TOO_MANY_STREAMS', status: 429 });
    abort.abort();
    await reading.next();
    await expect(call(operation, {})).resolves.toMatchObject({ status: 200 });
  });
});

describe.each(['PHYSICAL_TABLE', 'JSONB'] as const)('GET stream with a filter, %s', (storageMode) => {
  const shop = testCollection({
    name: `shop_${storageMode.toLowerCase()}`,
    storageMode,
    fields: [
      { name: 'number', type: 'STRING' },
      { name: 'total', type: 'CURRENCY' },
      { name: 'placedAt', type: 'DATETIME' },
      { name: 'labels', type: 'ARRAY' },
      { name: 'double', type: 'FORMULA', formula: { expression: 'total * 2', returns: 'DOUBLE' } },
    ],
  });
  beforeAll(() => createCollectionTables(bench.database, shop));

  const write = async (operation: RecordOperation, body: object, id?: string): Promise<string> => {
    const request = testRequest({ body: Buffer.from(JSON.stringify(body)), id });
    const answer = await operation(
      testContext({ shape: 'flat' }),
      shop,
      request,
      testDependencies(bench.database, [shop]),
    );
    return (JSON.parse(answer.body as string) as { id: string }).id;
  };
  const numbers = (text: string): (string | undefined)[] =>
    [...text.matchAll(/"after":\{.*?"number": ?"(\w+)"/g)].map(([, number]) => number);

  it.each([
    ['filter[total][gte]=100', ['big', 'raised', 'lowered']],
    ['filter[double][lt]=30', ['small']],
    ['filter[placedAt][lt]=2026-01-01T00:00:00%2B01:00', ['old']],
    ['filter[or][0][labels][has]=vip&filter[or][1][number][starts]=sm', ['small', 'vip']],
    ['filter[not][total][isnull]=true', ['small', 'big', 'raised', 'raised', 'lowered', 'lowered']],
  ])('%s sends the changes of records that meet it before or after', async (filter, expected) => {
    const open = await stream({ query: filter }, { collection: shop });
    await write(createRecords, { number: 'small', total: 10 });
    await write(createRecords, { number: 'big', total: 100 });
    await write(createRecords, { number: 'old', placedAt: '2025-12-31T22:59:59.5Z' });
    await write(createRecords, { number: 'new', placedAt: '2026-05-01T00:00:00Z' });
    await write(createRecords, { number: 'vip', labels: ['vip'] });
    const raised = await write(createRecords, { number: 'raised', total: 20 });
    await write(updateRecord, { total: 200 }, raised);
    const lowered = await write(createRecords, { number: 'lowered', total: 20 });
    await write(updateRecord, { total: 300 }, lowered);
    await write(createRecords, { number: 'end', total: 15_000, labels: ['vip'], placedAt: '2020-01-01T00:00:00Z' });
    tail.wrote();
    const all = () => numbers(open.seen.text).filter((number) => number !== 'end');
    await eventually(() => expect(all()).toEqual(expected));
    await open.close();
  });

  it.each([
    ['filter[totl][eq]=1', 'Did you mean "total"?'],
    ['filter[total][eq]=x', 'total'],
    ['filter[number][regex]=(', 'regular expression'],
    ['sinse=1', 'since'],
  ])('refuses %s before the stream begins', async (query, detail) => {
    await expect(stream({ query }, { collection: shop })).rejects.toThrow(detail);
  });
});
