import { storageModes, type FieldDefinition } from '@drover/contracts';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { createRecords } from '../operations/create-records.js';
import { listRecords } from '../operations/list-records.js';
import { updateRecord } from '../operations/update-records.js';
import { TestCollections } from '../operations/write.test.fixture.js';
import { collectionTestSchema, testContext } from '../testing/index.js';
import { tableOf } from '../storage/field-expression.js';
import { importRecords } from './import-records.js';

let testDatabase: TestDatabase;
let collections: TestCollections;
const models: CollectionModel[] = [];
let query: (text: string) => Promise<Record<string, unknown>[]>;

beforeAll(async () => {
  testDatabase = await createTestDatabase(collectionTestSchema);
  const database = await testDatabase.connect();
  query = (text) => database.query(text);
  collections = new TestCollections(database);
  await collections.define({ name: 'customers', fields: [{ name: 'name', type: 'STRING' }] });
  for (const storageMode of ['PHYSICAL_TABLE', 'JSONB'] as const) {
    models.push(
      await collections.define({
        name: `orders-${storageMode}`,
        storageMode,
        fields: [
          { name: 'number', type: 'EXTERNAL_ID', required: true },
          { name: 'total', type: 'CURRENCY', constraints: { minValue: 0 } },
          { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
          { name: 'tags', type: 'ARRAY' },
        ],
      }),
    );
  }
});
afterAll(() => testDatabase.drop());

async function importText(
  collection: CollectionModel,
  type: string,
  text: string,
  search = '',
  dependencies = collections.dependencies,
) {
  const request = {
    path: '',
    query: search,
    headers: { 'content-type': type },
    id: undefined,
    version: undefined,
    parent: undefined,
    body: Buffer.from(text),
    upload: undefined,
    signal: new AbortController().signal,
  };
  const { body } = await importRecords(
    testContext({ tenantId: collection.tenantId }),
    collection,
    request,
    dependencies,
  );
  let answer = '';
  for await (const part of body as AsyncIterable<string>) answer += part;
  return answer;
}

type ReportLine = { kind: string; line: number; errors?: { code: string; source: { pointer: string } }[] };
const linesOf = (answer: string): ReportLine[] =>
  answer
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ReportLine);

const countOf = async (collection: CollectionModel): Promise<unknown> =>
  (await query(`select count(*)::int as count from ${tableOf(collection).render().text}`))[0]?.['count'];

describe.each([0, 1])('an import into a collection (storage mode %i)', (mode) => {
  it('writes what is right, each record with its event, and reports the rest with the reason', async () => {
    const collection = models[mode] as CollectionModel; // defined above
    const missing = '01900000-0000-7000-8000-000000000000';
    const rows = Array.from({ length: 1_200 }, (_, n) => `N${n},${n},,"[""a"",${n}]"`);
    rows.splice(100, 0, 'N1,1,,', 'X1,-1,,', 'X2,cheap,,', `X3,1,${missing},`, ',1,,');
    const lines = linesOf(await importText(collection, 'text/csv', `number,total,customer,tags\n${rows.join('\n')}\n`));
    const reasons = lines.flatMap(({ kind, line, errors = [] }) =>
      kind === 'rejected' ? errors.map(({ code, source }) => `${line} ${code} ${source.pointer}`) : [],
    );
    expect(reasons).toEqual([
      '102 UNIQUE_VIOLATION /number',
      '103 minValue /total',
      '104 type /total',
      '105 reference /customer',
      '106 nullable /number',
    ]);
    expect(lines.at(-1)).toMatchObject({ kind: 'done', rows: 1_205, created: 1_200, updated: 0, rejected: 5 });
    expect(await countOf(collection)).toBe(1_200);
    const [events] = await query(
      `select count(*)::int as count from drover.record_events where collection_id = '${collection.id}' and kind = 'created'`,
    );
    expect(events).toEqual({ count: 1_200 });
  });

  it('changes records that exist with on_conflict; the last of equal rows wins', async () => {
    const collection = models[mode] as CollectionModel;
    const text =
      '{"number":"N1","total":7}\n{"number":"U1","total":8}\n{"number":"N1","total":9}\n{"number":"U1","total":10}\n';
    const lines = linesOf(await importText(collection, 'application/x-ndjson', text, 'on_conflict=number'));
    expect(lines.at(-1)).toMatchObject({ kind: 'done', created: 1, updated: 3, rejected: 0 });
    const rejected = await importText(
      collection,
      'text/csv',
      'number;total\nN1;1\nV1;x\n',
      'report=rejected&delimiter=;',
    );
    expect(rejected.split('\n').map((line) => line.split(';').slice(0, 3).join(';'))).toEqual([
      'number;total;_line',
      'N1;1;2',
      'V1;x;3',
      '',
    ]);
  });

  it('is refused before it begins if the header, the parameters or the media type are wrong', async () => {
    const collection = models[mode] as CollectionModel;
    await expect(importText(collection, 'text/csv', 'numbr\n1\n')).rejects.toMatchObject({
      code: 'IMPORT_COLUMN_UNKNOWN',
    });
    await expect(importText(collection, 'image/png', 'x')).rejects.toMatchObject({ code: 'IMPORT_MEDIA_UNSUPPORTED' });
    await expect(importText(collection, 'text/csv', 'x', 'on_conflct=number')).rejects.toMatchObject({
      code: 'INVALID_QUERY',
    });
  });
});

describe('values of an import', () => {
  it.each(storageModes)('are stored as those of a create in %s', async (storageMode) => {
    const texts = ['', 'NULL', 'null', '{a,b}', '"', '\\', 'a\\"b\n,ü😀', '\\x00'];
    const fields: FieldDefinition[] = [
      { name: 'mark', type: 'STRING' },
      { name: 'text', type: 'TEXT' },
      { name: 'choices', type: 'MULTI_PICKLIST', values: texts.slice(1) },
      { name: 'list', type: 'ARRAY' },
      { name: 'json', type: 'JSON' },
      { name: 'place', type: 'GEOLOCATION' },
      { name: 'integer', type: 'INTEGER' },
      { name: 'long', type: 'LONG' },
      { name: 'double', type: 'DOUBLE' },
      { name: 'price', type: 'CURRENCY' },
      { name: 'isTrue', type: 'BOOLEAN', default: true },
      { name: 'day', type: 'DATE' },
      { name: 'at', type: 'DATETIME' },
      { name: 'secret', type: 'ENCRYPTED' },
      { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
    ];
    const collection = await collections.define({ name: `values-${storageMode}`, storageMode, fields });
    const customers = await collections.dependencies.find('acme', 'customers');
    const { id } = await collections.create(customers, { name: 'a' });
    const bodies = [
      {},
      { choices: [], list: [], json: {}, text: null, isTrue: null },
      { long: '9223372036854775807', price: '1234567890123456.78', integer: -1, double: 1e-7, isTrue: false },
      { day: '2024-02-29', at: '2024-02-29T12:00:00.123Z', customer: id, place: { latitude: 1.5, longitude: -2 } },
      ...texts.map((text) => ({ text, json: text, secret: text, list: [text, null, 1], choices: texts.slice(1) })),
      { json: { a: [texts, { b: null }], c: 1.5 }, list: [[1, [2]], { d: '"' }] },
    ];
    await collections.create(
      collection,
      bodies.map((body) => ({ ...body, mark: 'created' })),
    );
    const lines = bodies.map((body) => `${JSON.stringify({ ...body, mark: 'imported' })}\n`).join('');
    const report = linesOf(await importText(collection, 'application/x-ndjson', lines));
    expect(report.at(-1)).toMatchObject({ created: bodies.length, rejected: 0 });
    const names = fields.map(({ name }) => name).filter((name) => name !== 'mark');
    const stored = async (mark: string): Promise<unknown[]> => {
      const query = `filter[mark]=${mark}&sort=id&page[size]=100&fields=${names.join()}`;
      const { json } = await collections.call(listRecords, collection, { query });
      return json.data.map((record: Record<string, unknown>) => names.map((name) => [name, record[name]]));
    };
    const created = await stored('created');
    expect(created).toHaveLength(bodies.length);
    expect(await stored('imported')).toEqual(created);
  });
});

/**
 * The database, except that the answer to each third statement or transaction is lost after its commit, and that to each fourth
 * before it.
 */
function losingAnswers(): typeof collections.dependencies {
  const { database } = collections.dependencies;
  let count = 0;
  const losing = async <T>(run: () => Promise<T>): Promise<T> => {
    const number = (count += 1);
    const lost = Object.assign(new Error('the connection was lost'), { code: 'DATABASE_UNAVAILABLE' });
    if (number % 4 === 0) throw lost;
    const result = await run();
    if (number % 3 === 0) throw lost;
    return result;
  };
  return {
    ...collections.dependencies,
    database: {
      query: (statement, values) => losing(() => database.query<never>(statement, values)),
      transaction: (work, isolation) => losing(() => database.transaction(work, isolation)),
    },
  };
}

describe('an import whose connection is lost', () => {
  it('writes every row once, new or changed, whether its statement was committed or not', async () => {
    for (const collection of models) {
      const before = Number(await countOf(collection));
      const file = (total: number): string =>
        `number,total\n${Array.from({ length: 2_050 }, (_, n) => `L${n},${total}\n`).join('')}L7,1\n`;
      const created = linesOf(await importText(collection, 'text/csv', file(1), '', losingAnswers()));
      expect(created.at(-1)).toMatchObject({ kind: 'done', created: 2_050, rejected: 1 });
      const changed = linesOf(await importText(collection, 'text/csv', file(2), 'on_conflict=number', losingAnswers()));
      expect(changed.at(-1)).toMatchObject({ kind: 'done', created: 0, updated: 2_051 });
      expect(await countOf(collection)).toBe(before + 2_050);
      const events = await query(
        `select events, count(*)::int as records from (select count(*)::int as events from drover.record_events
         where collection_id = '${collection.id}' and after ->> 'number' like 'L%' group by record_id) as record group by events order by events`,
      );
      expect(events).toEqual([
        { events: 2, records: 2_049 },
        { events: 3, records: 1 },
      ]);
    }
  });
});

describe('a batch that is written ahead of its turn', () => {
  /** The database, except that the statement of the first batch starts when that of the second one has ended. */
  function secondFirst(between: () => Promise<void> = () => Promise.resolve()): typeof collections.dependencies {
    const { database } = collections.dependencies;
    let secondEnded = (): void => undefined;
    const hasSecondEnded = new Promise<void>((resolve) => (secondEnded = resolve));
    let transactions = 0;
    return {
      ...collections.dependencies,
      database: {
        query: (statement, values) => database.query(statement, values),
        transaction: (work, isolation) => {
          const isFirst = (transactions += 1) === 1;
          return database.transaction(
            (tx) =>
              work({
                ...tx,
                query: async (statement, values) => {
                  if (isFirst) await hasSecondEnded.then(between);
                  return tx.query<never>(statement, values).finally(secondEnded);
                },
              }),
            isolation,
          );
        },
      },
    };
  }

  const rowsOf = (mark: string, edit: (rows: string[]) => void): string => {
    const rows = Array.from({ length: 4_100 }, (_, n) => `${mark}${n},1`);
    edit(rows);
    return `number,total\n${rows.join('\n')}\n`;
  };
  const numbersLike = async (collection: CollectionModel, mark: string): Promise<unknown> =>
    (
      await query(
        `select count(*)::int as count from ${tableOf(collection).render().text} where number like '${mark}%'`,
      )
    )[0]?.['count'];

  it('is committed after the one before it, also without a row that is refused at once', async () => {
    const collection = models[0] as CollectionModel;
    let between: unknown;
    const dependencies = secondFirst(async () => {
      between = await numbersLike(collection, 'S');
    });
    const file = rowsOf('S', (rows) => void (rows[3_000] += 'x'));
    const lines = linesOf(await importText(collection, 'text/csv', file, '', dependencies));
    expect(lines.map(({ kind, line }) => `${kind} ${line}`)).toEqual([
      'progress 2001',
      'rejected 3002',
      'progress 4001',
      'progress 4101',
      'done 4101',
    ]);
    expect([between, await numbersLike(collection, 'S')]).toEqual([0, 4_099]);
  });

  it('does not win over an equal row of the one before it, although its row was there first', async () => {
    const collection = models[0] as CollectionModel;
    const file = rowsOf('T', (rows) => {
      rows[2_100] = rows[1_900] ?? '';
      rows[4_050] = rows[3_000] ?? '';
    });
    const lines = linesOf(await importText(collection, 'text/csv', file, '', secondFirst()));
    const rejected = lines.flatMap(({ kind, line, errors }) =>
      kind === 'rejected' ? [[line, errors?.[0]?.code]] : [],
    );
    expect(rejected).toEqual([
      [2_102, 'UNIQUE_VIOLATION'],
      [4_052, 'UNIQUE_VIOLATION'],
    ]);
    expect(lines.at(-1)).toMatchObject({ kind: 'done', created: 4_098, rejected: 2 });
    expect(await numbersLike(collection, 'T')).toBe(4_098);
  });
});

describe('requests of one moment', () => {
  it('are written together, and each gets its own answer or error', async () => {
    const collection = models[0] as CollectionModel;
    const before = await countOf(collection);
    const bodies = Array.from({ length: 60 }, (_, n) => ({ number: n % 20 === 19 ? 'SAME' : `M${n}`, total: n }));
    bodies[30] = { number: 'M30', total: -1 };
    const answers = await Promise.all(bodies.map((body) => collections.call(createRecords, collection, { body })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(57);
    expect(answers.flatMap(({ problems }) => problems).toSorted()).toEqual([
      'UNIQUE_VIOLATION /number',
      'UNIQUE_VIOLATION /number',
      'minValue /total',
    ]);
    for (const [n, { status, json }] of answers.entries()) {
      if (status === 201) expect(json).toMatchObject(bodies[n] ?? {});
    }
    expect(await countOf(collection)).toBe(Number(before) + 57);
  });

  it('that change one record change it one after the other', async () => {
    const collection = models[0] as CollectionModel;
    const { json } = await collections.call(createRecords, collection, { body: { number: 'R1' } });
    const others = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        collections.call(createRecords, collection, { body: { number: `R1-${n}` } }),
      ),
    );
    const id = String(json.id);
    const ids = Array.from({ length: 30 }, (_, n) => (n % 3 === 2 ? String(others[n % 10]?.json.id) : id));
    const answers = await Promise.all(
      ids.map((each, n) => collections.call(updateRecord, collection, { id: each, body: { total: n } })),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const versions = answers.flatMap(({ json: record }, n) => (ids[n] === id ? [Number(record.version)] : []));
    expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 2));
    const gone = '01900000-0000-7000-8000-00000000dead';
    const mixed = await Promise.all(
      [id, gone, id, gone, id].map((each) =>
        collections.call(updateRecord, collection, { id: each, body: { total: 5 } }),
      ),
    );
    expect(mixed.map(({ status }) => status)).toEqual([200, 404, 200, 404, 200]);
  });
});
