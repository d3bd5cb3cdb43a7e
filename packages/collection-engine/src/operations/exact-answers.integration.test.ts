import { storageModes, type FieldDefinition } from '@drover/contracts';
import { createTestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportRecordsWith } from '../bulk/export-records.js';
import { importRecords } from '../bulk/import-records.js';
import { changeJson } from '../events/change-json.js';
import type { RecordEvent } from '../events/record-event.js';
import type { CollectionModel } from '../model/collection-model.js';
import type { RecordOperation, RecordRequest } from '../request/record-operation.js';
import { collectionTestSchema, testContext, testRequest } from '../testing/index.js';
import { aggregateRecords } from './aggregate-records.js';
import { createRecords } from './create-records.js';
import { getRecord } from './get-record.js';
import { listRecords } from './list-records.js';
import { listRecordVersions } from './record-versions.js';
import { runOperations } from './run-operations.js';
import { replaceRecord, updateRecord, updateRecords } from './update-records.js';
import { TestCollections } from './write.test.fixture.js';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let records: TestCollections;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  records = new TestCollections(await server.connect());
});
afterAll(() => server.drop());

const exportRecords = exportRecordsWith(listRecords);
const fields: FieldDefinition[] = [
  { name: 'note', type: 'STRING' },
  { name: 'extra', type: 'JSON' },
  { name: 'secret', type: 'ENCRYPTED' },
  { name: 'size', type: 'LONG', indexed: true },
  { name: 'price', type: 'CURRENCY' },
];

describe.each(storageModes)('numbers of requests in %s', (storageMode) => {
  let things: CollectionModel;
  let id: string;
  beforeAll(async () => {
    const tenantId = `numbers ${storageMode}`;
    const list: FieldDefinition = { name: 'list', type: 'ARRAY' };
    const place: FieldDefinition = { name: 'place', type: 'GEOLOCATION' };
    const ratio: FieldDefinition = { name: 'ratio', type: 'DOUBLE' };
    things = await records.define({ name: 'things', storageMode, fields: [...fields, list, place, ratio] }, tenantId);
    ({ id } = await records.create(things, { note: 'first', extra: { n: 1 }, list: [2] }));
  });

  const imported = async (type: string, text: string): Promise<string> => {
    const request = testRequest({ headers: { 'content-type': type }, body: Buffer.from(text) });
    const context = testContext({ tenantId: things.tenantId });
    const { body } = await importRecords(context, things, request, records.dependencies);
    let answer = '';
    for await (const part of body as AsyncIterable<string>) answer += part;
    return answer;
  };

  it.each([['12345678901234567890'], ['1e400'], ['-1e-400'], ['0.12345678901234567890123']])(
    'that a double would change are refused in JSON, with their place: %s',
    async (number) => {
      const refused = (pointer: string) => ({ status: 400, problems: [`type ${pointer}`] });
      const body = `{"extra":{"a/b":[0,${number}]}}`;
      expect(await records.call(createRecords, things, { body })).toMatchObject(refused('/extra/a~1b/1'));
      expect(await records.call(createRecords, things, { body: `[{},${body}]` })).toMatchObject(
        refused('/1/extra/a~1b/1'),
      );
      expect(await records.call(updateRecord, things, { id, body })).toMatchObject(refused('/extra/a~1b/1'));
      expect(await records.call(replaceRecord, things, { id, body: `{"list":[${number}]}` })).toMatchObject(
        refused('/list/0'),
      );
      const query = 'filter[note][eq]=first&max_affected=1';
      expect(await records.call(updateRecords, things, { query, body })).toMatchObject(refused('/extra/a~1b/1'));
      const resource = `{"type":"things","id":"${id}","attributes":${body}}`;
      const operations = `{"atomic:operations":[{"op":"update","data":${resource}}]}`;
      expect(await records.callTenant(runOperations, things.tenantId, { body: operations })).toMatchObject(
        refused('/atomic:operations/0/data/attributes/extra/a~1b/1'),
      );
      for (const [type, text] of [
        ['application/x-ndjson', `${body}\n`],
        ['text/csv', `extra\n"{""a/b"":[0,${number}]}"\n`],
      ] as const) {
        const answer = await imported(type, text);
        expect(answer).toContain('"pointer":"/extra/a~1b/1"');
        expect(answer).toContain('"created":0,"updated":0,"rejected":1');
      }
      expect((await records.call(getRecord, things, { id })).json).toMatchObject({ extra: { n: 1 }, list: [2] });
    },
  );

  it('that a double would change are no values of a filter in JSON; in brackets they keep their digits', async () => {
    const large = '12345678901234567890';
    const query = (filter: string): string => `filter=${encodeURIComponent(filter)}`;
    for (const filter of [`{"extra.n":{"eq":${large}}}`, `{"size":{"in":[1,${large}]}}`, '{"ratio":{"lt":1e400}}'])
      expect(await records.call(listRecords, things, { query: query(filter) })).toMatchObject({
        status: 400,
        problems: ['INVALID_VALUE filter'],
      });
    const { id: rounded } = await records.create(things, {
      extra: { n: Number(large) },
      list: [Number(large)],
      note: 'rounded',
    });
    const found = async (filter: string): Promise<unknown> =>
      (await records.call(listRecords, things, { query: filter })).json.data.map((each: { id: string }) => each.id);
    for (const filter of [
      `filter[extra][eq]={"n":${large}}`,
      `filter[extra][has]={"n":${large}}`,
      `filter[extra.n][eq]=${large}`,
      `filter[extra.n][gte]=${large}`,
      `filter[list][has]=${large}`,
      `filter[list][hasAny]=${large},5`,
    ])
      expect(await found(filter)).toEqual([]);
    expect(await found('filter[list][has]=12345678901234567000')).toEqual([rounded]);
    expect(await found(query('{"list":{"has":12345678901234567000}}'))).toEqual([rounded]);
  });

  it('keep all digits in fields that have them, and are rounded in a DOUBLE', async () => {
    const body =
      '{"size":9223372036854775807,"price":1234567890123456.78,"ratio":0.12345678901234567890,"extra":[0.30000000000000004],"place":{"latitude":52.52000800000000000012,"longitude":13}}';
    const { json } = await records.call(createRecords, things, { body });
    const shown = { ratio: 0.123_456_789_012_345_68, extra: [0.1 + 0.2], place: { latitude: 52.520008 } };
    expect(json).toMatchObject(shown);
    const text = await imported(
      'text/csv',
      'note,size,price,ratio\ncsv,-9223372036854775808,1234567890123456.78,0.12345678901234567890\n',
    );
    expect(text).toContain('"created":1');
    const stored = await records.dependencies.database.query<{ after: string }>(
      `select after::text from drover.record_events where collection_id = $1 and after ->> 'size' is not null order by id`,
      [things.id],
    );
    expect(stored[0]?.after).toContain('"size": 9223372036854775807');
    expect(stored[0]?.after).toContain('"price": 1234567890123456.78');
    expect(stored[1]?.after).toContain('"size": -9223372036854775808');
    expect(stored[1]?.after).toContain('"price": 1234567890123456.78');
  });
});

describe.each(storageModes)('answers in %s', (storageMode) => {
  let things: CollectionModel;
  beforeAll(async () => {
    things = await records.define({ name: 'things', storageMode, history: true, fields }, storageMode);
  });

  it('show what a client wrote to look like an encrypted value as it was written', async () => {
    // The layout of a ciphertext that another key has made.
    const marked = (slash: string): string => `drover${slash}sealed:${things.id}:secret:01${'ab'.repeat(60)}`;
    const texts = [':', '/', '\\/', '\\\\/'].map(marked);
    for (const note of texts) {
      const body = { note, extra: { [note]: [note] }, secret: `the secret of ${note}` };
      const { id } = await records.create(things, body);
      expect((await records.call(getRecord, things, { id })).json).toMatchObject(body);
      expect((await records.call(updateRecord, things, { id, body: { note } })).json).toMatchObject(body);
      const { json } = await records.call(listRecords, things, { query: `filter[id][eq]=${id}` });
      expect(json.data).toMatchObject([body]);
      const versions = await records.call(listRecordVersions, things, { id });
      expect(versions.json.data).toMatchObject([{ record: body }, { record: body }]);
      const operations = [{ op: 'update', data: { type: 'things', id, attributes: body } }];
      const answer = await records.callTenant(runOperations, storageMode, {
        body: { 'atomic:operations': operations },
      });
      expect(answer.json['atomic:results']).toMatchObject([{ data: { attributes: body } }]);
    }
  });

  it('repeat an encrypted value for a repeated idempotency key', async () => {
    const request = { body: { secret: 'once' }, headers: { 'idempotency-key': `sealed ${storageMode}` } };
    const first = await records.call(createRecords, things, request);
    expect(first.json).toMatchObject({ secret: 'once' });
    expect((await records.call(createRecords, things, request)).json).toEqual(first.json);
  });

  it('have every digit of numbers that a double cannot hold, as JSON numbers', async () => {
    const values = { size: '9223372036854775807', price: '1234567890123456.78' };
    const shown = '"size":9223372036854775807,"price":1234567890123456.78,';
    const { id } = await records.create(things, { ...values, secret: 's' });
    const text = async (operation: RecordOperation, request: Partial<RecordRequest> = {}): Promise<string> => {
      const context = testContext({ tenantId: storageMode, shape: 'flat' });
      const { body } = await operation(context, things, testRequest(request), records.dependencies);
      if (typeof body === 'string') return body;
      const parts: string[] = [];
      for await (const part of body as AsyncIterable<string>) parts.push(part);
      return parts.join('');
    };
    const large = `filter[size][gte]=${values.size}`;
    expect(await text(getRecord, { id })).toContain(shown);
    expect(await text(listRecords, { query: `${large}&sort=-size` })).toContain(shown);
    expect(await text(updateRecord, { id, body: Buffer.from('{"note":"n"}') })).toContain(shown);
    expect(await text(listRecordVersions, { id })).toMatch(/(?:"size" : 9223372036854775807.*){2}/);
    expect(await text(exportRecords, { query: `format=jsonl&${large}` })).toContain(shown);
    expect(await text(exportRecords, { query: `format=csv&${large}&fields=size,price` })).toContain(
      `${values.size},${values.price}`,
    );
    expect(await text(aggregateRecords, { query: `${large}&agg[size]=max:most` })).toContain(
      '"most":9223372036854775807',
    );
    const [event] = await records.dependencies.database.query<{ after: string }>(
      'select after::text from drover.record_events where record_id = $1 order by id limit 1',
      [id],
    );
    const json = changeJson(things, { after: event?.after, before: undefined, at: new Date() } as RecordEvent);
    expect(json).toMatch(/"size": ?9223372036854775807,/);
    expect(json).not.toContain('secret');
  });
});
