import { storageModes, type CollectionDefinition } from '@drover/contracts';
import { createTestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportRecordsWith } from '../bulk/export-records.js';
import { changeJson } from '../events/change-json.js';
import type { RecordEvent } from '../events/record-event.js';
import type { CollectionModel } from '../model/collection-model.js';
import type { RecordOperation, RecordRequest } from '../request/record-operation.js';
import { collectionTestSchema, testContext, testRequest } from '../testing/index.js';
import { aggregateRecords } from './aggregate-records.js';
import { deleteRecord } from './delete-records.js';
import { getRecord } from './get-record.js';
import { listRecords } from './list-records.js';
import { listRecordVersions } from './record-versions.js';
import { restoreRecord } from './restore-records.js';
import { updateRecord } from './update-records.js';
import { TestCollections } from './write.test.fixture.js';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let records: TestCollections;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  records = new TestCollections(await server.connect());
});
afterAll(() => server.drop());

const definition: CollectionDefinition = {
  name: 'visits',
  softDelete: true,
  history: true,
  fields: [
    { name: 'at', type: 'DATETIME' },
    { name: 'until', type: 'FORMULA', formula: { expression: 'at', returns: 'DATETIME' } },
    { name: 'parent', type: 'LOOKUP', references: { collection: 'visits', as: 'children' } },
  ],
};

/** All texts in JSON that begin as times do. */
const timesIn = (text: string): string[] => text.match(/\d{4}-\d{2}-\d{2}T[^"\\,\n]*/g) ?? [];

describe.each(storageModes)('times of answers and events in %s', (storageMode) => {
  let visits: CollectionModel;
  beforeAll(async () => {
    visits = await records.define({ ...definition, storageMode }, storageMode);
  });
  const text = async (operation: RecordOperation, request: Partial<RecordRequest> = {}): Promise<string> => {
    const parts: string[] = [];
    for (const shape of ['flat', 'jsonapi'] as const) {
      const context = testContext({ tenantId: storageMode, shape });
      const { body } = await operation(context, visits, testRequest(request), records.dependencies);
      if (typeof body === 'string') parts.push(body);
      else for await (const part of body as AsyncIterable<string>) parts.push(part);
    }
    return parts.join('\n');
  };

  it('have one form: UTC with milliseconds', async () => {
    const { id } = await records.create(visits, { at: '2026-01-31T14:00:00+02:00' });
    await records.create(visits, { at: '2026-01-31T12:00:00.5Z', parent: id });
    await records.call(deleteRecord, visits, { id });
    const deleted = await text(listRecords, { query: 'deleted=only' });
    await records.call(restoreRecord, visits, { id });
    await records.call(updateRecord, visits, { id, body: {} });
    const [event] = await records.dependencies.database.query<{ before: string; after: string }>(
      'select before::text, after::text from drover.record_events where record_id = $1 order by id desc limit 1',
      [id],
    );
    const answers = [
      deleted,
      await text(getRecord, { id, query: 'include=children' }),
      await text(listRecords, { query: 'include=parent' }),
      await text(listRecordVersions, { id }),
      await text(aggregateRecords, { query: 'group=createdAt,at:hour&agg[at]=min,max&agg[updatedAt]=max' }),
      await text(exportRecordsWith(listRecords), { query: 'format=csv' }),
      changeJson(visits, { ...event, at: new Date() } as unknown as RecordEvent),
    ];
    for (const answer of answers) {
      expect(timesIn(answer).length).toBeGreaterThan(1);
      expect(timesIn(answer).filter((time) => !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time))).toEqual([]);
    }
  });

  it('find the records that show them', async () => {
    const { id } = await records.create(visits, { at: '2026-03-01T00:00:00.123Z' });
    const { json } = await records.call(updateRecord, visits, { id, body: {} });
    for (const name of ['createdAt', 'updatedAt', 'at', 'until'] as const) {
      const query = `filter[id][eq]=${id}&filter[${name}][eq]=${json[name]}`;
      expect((await records.call(listRecords, visits, { query })).json.data).toHaveLength(1);
    }
  });
});
