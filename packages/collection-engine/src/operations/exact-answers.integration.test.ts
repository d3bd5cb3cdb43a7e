import { storageModes, type FieldDefinition } from '@drover/contracts';
import { createTestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportRecordsWith } from '../bulk/export-records.js';
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
import { updateRecord } from './update-records.js';
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
