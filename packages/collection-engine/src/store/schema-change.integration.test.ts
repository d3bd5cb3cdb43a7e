import type { CollectionDefinition, FieldDefinition, StorageMode } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, quietIo } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { createRecords } from '../operations/create-records.js';
import { callOperation, collectionTestSchema, testDependencies } from '../testing/index.js';
import type { CollectionChange } from './change-rows.js';
import { CollectionChanges } from './collection-changes.js';
import { CollectionStore } from './collection-store.js';
import { SchemaChangeRunner } from './schema-change-runner.js';
import {
  currentModel,
  endOf,
  insertRecord,
  multiplyRecord,
  readValues,
  tableObjects,
  updateRecord,
} from './schema-change.test.fixture.js';

const bus = { publish: () => Promise.resolve() };
const tenant = 'acme';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let store: CollectionStore;
const runners: SchemaChangeRunner[] = [];
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect({ poolSize: 20 });
  store = new CollectionStore({ database, bus, maxCollections: 1_000, cleanupDelayMs: 0 });
});
afterEach(() => Promise.all(runners.splice(0).map((runner) => runner.stop())));
afterAll(() => server.drop());

/** Cleans up never, or at once. */
function openRunner(cleanupDelayMs = 3_600_000): {
  readonly changes: CollectionChanges;
  readonly runner: SchemaChangeRunner;
} {
  const changes = new CollectionChanges({ database, bus, cleanupDelayMs });
  const runner = new SchemaChangeRunner({
    database,
    sessions: database,
    changes,
    ...quietIo,
    observe: () => undefined,
    pollMs: 20,
  });
  runners.push(runner);
  return { changes, runner };
}

async function requestChange(
  runner: SchemaChangeRunner,
  { tenantId, actor, ...change }: Parameters<CollectionChanges['request']>[0],
): Promise<CollectionChange | undefined> {
  const { changes } = await runner.requestSet({ tenantId, actor, changed: [change], created: [] });
  return changes[0];
}

let number = 0;
interface Trial {
  readonly name: string;
  readonly definition: (
    fields: readonly FieldDefinition[],
    more?: Partial<CollectionDefinition>,
  ) => CollectionDefinition;
  readonly create: (
    fields: readonly FieldDefinition[],
    more?: Partial<CollectionDefinition>,
  ) => Promise<CollectionModel>;
  /** Changes the fields and waits for the end of the change. */
  readonly change: (
    fields: readonly FieldDefinition[],
    more?: Partial<CollectionDefinition>,
    cleanupDelayMs?: number,
  ) => Promise<CollectionModel>;
}

function trial(storageMode: StorageMode): Trial {
  number += 1;
  const name = `trial-${number}`;
  const definition: Trial['definition'] = (fields, more = {}) => ({ name, storageMode, fields: [...fields], ...more });
  return {
    name,
    definition,
    async create(fields, more) {
      await store.create(tenant, [definition(fields, more)], 'key');
      return currentModel(store, tenant, name);
    },
    async change(fields, more, cleanupDelayMs) {
      const { changes, runner } = openRunner(cleanupDelayMs);
      await runner.start();
      const change = await requestChange(runner, {
        tenantId: tenant,
        name,
        definition: definition(fields, more),
        actor: 'key-2',
      });
      const ended = await endOf(changes, change?.id);
      expect(ended).toMatchObject({ state: 'done' });
      return currentModel(store, tenant, name);
    },
  };
}

const text = (name: string, more: Partial<FieldDefinition> = {}): FieldDefinition => ({
  name,
  type: 'STRING',
  ...more,
});

describe.each<StorageMode>(['PHYSICAL_TABLE', 'JSONB'])('a change of a collection in mode %s', (storageMode) => {
  it('adds, renames and removes fields while a worker has the version before', async () => {
    const { create, change } = trial(storageMode);
    const before = await create([text('a'), text('b', { indexed: true }), text('gone')]);
    await insertRecord(database, before, { a: 'a1', b: 'b1', gone: 'x' });
    const after = await change([text('c', { formerName: 'b', indexed: true }), text('a'), text('b'), text('d')]);
    expect(after.version).toBe(2);
    expect(after.definition.fields[0]).not.toHaveProperty('formerName');
    await insertRecord(database, before, { a: 'a2', b: 'b2', gone: 'y' });
    await insertRecord(database, after, { a: 'a3', c: 'c3', b: 'new b', d: 'd3' });
    expect(await readValues(database, after, 'c')).toEqual(['b1', 'b2', 'c3']);
    expect(await readValues(database, after, 'b')).toEqual([null, null, 'new b']);
    expect(await readValues(database, before, 'b')).toEqual(['b1', 'b2', 'c3']);
    expect(await readValues(database, before, 'gone')).toEqual(['x', 'y', null]);
    expect(await store.versions(tenant, before.name)).toMatchObject([
      { version: 2, createdBy: 'key-2' },
      { version: 1, createdBy: 'key' },
    ]);
  });

  it('fills a required field with its default, also in what a worker with the version before writes', async () => {
    const { create, change } = trial(storageMode);
    const before = await create([text('a')]);
    await insertRecord(database, before, { a: 'first' });
    await multiplyRecord(database, before, 1_200);
    const defaults: FieldDefinition[] = [
      { name: 'n', type: 'INTEGER', required: true, default: 7 },
      { name: 'when', type: 'DATETIME', required: true, default: '2026-01-31T12:00:00Z' },
      { name: 'tags', type: 'MULTI_PICKLIST', values: ['x', 'y'], required: true, default: ['y'] },
      { name: 'quote', type: 'STRING', required: true, default: `it's "$$" \\ here` },
      { name: 'serial', type: 'AUTO_NUMBER', autoNumber: { prefix: 'N-', digits: 5, start: 10 } },
    ];
    const after = await change([text('a'), ...defaults]);
    await insertRecord(database, before, { a: 'late' });
    for (const [name, value] of [
      ['n', '7'],
      ['quote', `it's "$$" \\ here`],
    ] as const) {
      expect(new Set(await readValues(database, after, name))).toEqual(new Set([value]));
    }
    expect(new Set(await readValues(database, after, 'when')).size).toBe(1);
    expect(await readValues(database, after, 'tags')).toHaveLength(1_202);
    const serials = (await readValues(database, after, 'serial')).map(String);
    expect(new Set(serials).size).toBe(1_202);
    expect(serials.toSorted()[0]).toBe('N-00010');
  });

  it('builds an index for patterns while the table is used', async () => {
    const { create, change } = trial(storageMode);
    const before = await create([text('a')]);
    await insertRecord(database, before, { a: 'first' });
    const indexes = async (): Promise<number> => {
      const rows = await database.query(
        `select from pg_indexes where tablename = $1 and indexdef like '%gin_trgm_ops%'`,
        [before.table],
      );
      return rows.length;
    };
    await change([text('a', { patternIndexed: true })]);
    expect(await indexes()).toBe(1);
  });

  it('fills a required field with a constant without a look at the records, where these have columns', async () => {
    const { create, change } = trial(storageMode);
    const before = await create([text('a')]);
    await insertRecord(database, before, { a: 'first' });
    await multiplyRecord(database, before, 5_000);
    // A row that is updated moves; one whose new column has a value that PostgreSQL keeps beside the table does not.
    const places = async (): Promise<string | undefined> => {
      const rows = await database.query<{ hash: string }>(
        `select md5(string_agg(ctid::text, ',' order by id)) as hash from drover_records."${before.table}"`,
      );
      return rows[0]?.hash;
    };
    const unmoved = await places();
    const after = await change([
      text('a'),
      { name: 'n', type: 'INTEGER', required: true, default: 7 },
      { name: 'tags', type: 'MULTI_PICKLIST', values: ['x', 'y'], required: true, default: ['y'] },
    ]);
    expect((await places()) === unmoved).toBe(storageMode === 'PHYSICAL_TABLE');
    await insertRecord(database, before, { a: 'late' });
    const values = await readValues(database, after, 'n');
    expect([values.length, new Set(values)]).toEqual([5_002, new Set(['7'])]);
    if (storageMode === 'JSONB') return;
    // The value was for records that lack it, and for no record of a later version.
    const defaults = await database.query(
      `select from pg_attrdef where adrelid = 'drover_records."${before.table}"'::regclass
       and pg_get_expr(adbin, adrelid) like '%7%'`,
    );
    expect(defaults).toEqual([]);
  });

  const retypes: readonly [
    FieldDefinition['type'],
    FieldDefinition['type'],
    unknown,
    string,
    unknown,
    string | null,
  ][] = [
    ['INTEGER', 'LONG', 5, '5', 3_000_000_000, storageMode === 'JSONB' ? '3000000000' : null],
    ['INTEGER', 'DOUBLE', 5, '5', 1.5, null],
    ['LONG', 'INTEGER', 5, '5', 6, '6'],
    ['INTEGER', 'STRING', 5, '5', 'five', null],
    ['DOUBLE', 'STRING', 0.1, '0.1', '2.5', '2.5'],
    ['STRING', 'INTEGER', '42', '42', 43, '43'],
    ['STRING', 'BOOLEAN', 'true', 'true', false, 'false'],
    ['STRING', 'DATE', '2026-02-28', '2026-02-28', '2026-03-01', '2026-03-01'],
    ['DATE', 'DATETIME', '2026-02-28', '2026-02-28', '2026-03-01T00:00:00.000Z', '2026-03-01'],
    ['INTEGER', 'CURRENCY', 5, '5.00', 6, '6'],
    ['STRING', 'TEXT', 'same', 'same', 'other', 'other'],
    ['BOOLEAN', 'STRING', true, 'true', 'false', 'false'],
  ];

  it('fills a required field by its formula, and refuses it if the formula gives nothing', async () => {
    const { create, change } = trial(storageMode);
    const before = await create([text('a'), { name: 'n', type: 'INTEGER' }]);
    await insertRecord(database, before, { a: 'x', n: 3 });
    const more: FieldDefinition[] = [
      { name: 'm', type: 'CURRENCY', required: true, defaultFormula: 'k * n + 0.5' },
      { name: 'k', type: 'INTEGER', required: true, default: 2 },
      { name: 'day', type: 'DATETIME', required: true, defaultFormula: 'NOW()' },
    ];
    const after = await change([text('a'), { name: 'n', type: 'INTEGER' }, ...more]);
    await insertRecord(database, before, { a: 'y', n: 4 });
    expect((await readValues(database, after, 'm')).map(Number)).toEqual([6.5, 8.5]);
    expect((await readValues(database, after, 'day')).map((day) => Date.parse(String(day)))).not.toContain(Number.NaN);
    await expect(insertRecord(database, before, { a: 'z' })).rejects.toMatchObject({ code: '23514' });
  });

  it('changes types without a loss while both versions are written', async () => {
    const { create, change } = trial(storageMode);
    const fieldsOf = (side: 0 | 1): FieldDefinition[] =>
      retypes.map((retype, index) => ({ name: `v${index}`, type: retype[side], indexed: true }));
    const valuesOf = (side: 2 | 4): Record<string, unknown> =>
      Object.fromEntries(retypes.map((retype, index) => [`v${index}`, retype[side]]));
    const before = await create(fieldsOf(0));
    await insertRecord(database, before, valuesOf(2));
    const after = await change(fieldsOf(1));
    const late = await insertRecord(database, before, valuesOf(2));
    await insertRecord(database, after, valuesOf(4));
    for (const [index, [from, to, old, read, fresh, readBefore]] of retypes.entries()) {
      const [name, about] = [`v${index}`, `${from} to ${to}`];
      const normalized = (value: unknown): unknown =>
        to === 'CURRENCY' ? Number(value).toFixed(2) : to === 'DATETIME' ? String(value).slice(0, 10) : value;
      expect([about, ...(await readValues(database, after, name)).slice(0, 2).map(normalized)]).toEqual([
        about,
        read,
        read,
      ]);
      await updateRecord(database, after, late, [name, fresh]);
      expect([about, ...(await readValues(database, before, name)).slice(1)]).toEqual([about, readBefore, readBefore]);
      await updateRecord(database, before, late, [name, old]);
      expect([about, normalized((await readValues(database, after, name))[1])]).toEqual([about, read]);
    }
  });

  const values: FieldDefinition = { name: 'v', type: 'PICKLIST', values: ['a', 'b'] };
  it('is refused with the number of records for each reason', async () => {
    const { name, create, definition } = trial(storageMode);
    const json = storageMode === 'JSONB' ? {} : '{}';
    const cases: readonly [FieldDefinition, readonly [unknown, unknown, unknown], FieldDefinition, object][] = [
      [
        text('missing'),
        ['x', null, null],
        text('missing', { required: true }),
        { path: '/fields/0/required', records: 2 },
      ],
      [text('same'), ['x', 'x', 'y'], text('same', { unique: true }), { path: '/fields/1/unique', records: 2 }],
      [text('word'), ['1', 'one', '007'], { name: 'word', type: 'INTEGER' }, { path: '/fields/2/type', records: 2 }],
      [
        { name: 'large', type: 'LONG' },
        [1, 3_000_000_000, null],
        { name: 'large', type: 'INTEGER' },
        { path: '/fields/3/type', records: 1 },
      ],
      [
        { ...values, name: 'pick' },
        ['a', 'b', 'b'],
        { ...values, name: 'pick', values: ['a'] },
        { path: '/fields/4/values', records: 2 },
      ],
      [
        text('long'),
        ['abc', 'ab', null],
        text('long', { constraints: { maxLength: 2 } }),
        { path: '/fields/5/constraints/maxLength', records: 1 },
      ],
      [{ name: 'json', type: 'JSON' }, [json, null, null], text('json'), { path: '/fields/6/type', records: 1 }],
      [
        text('part'),
        ['0.5', '2026-02-30', 'x'],
        { name: 'part', type: 'DATE' },
        { path: '/fields/7/type', records: 3 },
      ],
      [
        text('mail'),
        ['a@b.example', 'x', null],
        { name: 'mail', type: 'EMAIL' },
        { path: '/fields/8/type', records: 1 },
      ],
      [
        text('code'),
        ['AB', 'a1', null],
        text('code', { constraints: { pattern: '[A-Z]+' } }),
        { path: '/fields/9/constraints/pattern', records: 1 },
      ],
      [
        text('huge'),
        ['x'.repeat(5_000), 'x', null],
        text('huge', { indexed: true }),
        { path: '/fields/10/indexed', records: 1 },
      ],
    ];
    const collection = await create(cases.map(([field]) => field));
    for (const index of [0, 1, 2] as const) {
      const record = cases.flatMap(([field, stored]) => (stored[index] === null ? [] : [[field.name, stored[index]]]));
      await insertRecord(database, collection, Object.fromEntries(record));
    }
    const wanted = definition([...cases.map(([, , field]) => field), text('fresh', { required: true })]);
    const refusals = [...cases.map(([, , , refusal]) => refusal), { path: '/fields/11/required', records: 3 }];
    const byPath = (found: readonly { readonly path: string }[]): object[] =>
      found.toSorted((a, b) => Number(a.path.split('/')[2]) - Number(b.path.split('/')[2]));
    const { changes } = openRunner();
    expect(byPath((await changes.plan(tenant, name, wanted)).refusals)).toMatchObject(refusals);
    await expect(changes.request({ tenantId: tenant, name, definition: wanted, actor: 'key' })).rejects.toMatchObject({
      code: 'COLLECTION_CHANGE_REFUSED',
    });
    expect(await changes.list(tenant, name)).toEqual([]);
  });

  it('keeps a worker with the version before from writing what the new one refuses', async () => {
    const { create, change } = trial(storageMode);
    const before = await create([text('a'), text('b')]);
    await change([text('a', { required: true }), { name: 'b', type: 'INTEGER' }]);
    const write = (record: object): Promise<{ readonly status: number }> =>
      callOperation(createRecords, before, testDependencies(database, [before]), {
        body: Buffer.from(JSON.stringify(record)),
      });
    for (const refused of [{ b: '1' }, { a: 'a', b: 'one' }]) {
      await expect(write(refused)).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining('is being changed'),
      });
    }
    expect(await write({ a: 'a', b: '1' })).toMatchObject({ status: 201 });
  });

  it('finds records that were written after it was planned, and leaves nothing of itself', async () => {
    const { name, create, definition } = trial(storageMode);
    const before = await create([text('a', { indexed: true }), text('b')]);
    const objects = await tableObjects(database, before);
    const { changes, runner } = openRunner();
    const wanted = definition([
      text('a', { unique: true }),
      { name: 'b', type: 'INTEGER' },
      text('c', { required: true, default: 'c' }),
    ]);
    const change = await changes.request({ tenantId: tenant, name, definition: wanted, actor: 'key' });
    await expect(changes.request({ tenantId: tenant, name, definition: wanted, actor: 'key' })).rejects.toMatchObject({
      code: 'COLLECTION_CHANGE_RUNNING',
    });
    for (const b of ['1', '2']) await insertRecord(database, before, { a: 'same', b });
    await runner.start();
    const ended = await endOf(changes, change?.id);
    expect(ended).toMatchObject({ state: 'refused', refusals: [{ path: '/fields/0/unique', records: 2 }] });
    await eventually(async () => expect(await tableObjects(database, before)).toEqual(objects));
    expect((await currentModel(store, tenant, name)).version).toBe(1);
    expect(await readValues(database, before, 'b')).toEqual(['1', '2']);
  });

  it('drops columns, triggers, constraints and indexes of versions before when they are due', async () => {
    const { create, change } = trial(storageMode);
    const before = await create([
      text('a', { indexed: true, searchable: true }),
      text('b', { unique: true }),
      { name: 'n', type: 'INTEGER' },
    ]);
    const id = await insertRecord(database, before, { a: 'a', b: 'b', n: 1 });
    const after = await change(
      [
        text('b', { required: true, default: '-' }),
        { name: 'n', type: 'STRING' },
        text('d', { indexed: true, searchable: true }),
      ],
      { uniqueSets: [['b', 'n']], indexes: [['-d', 'n']] },
      0,
    );
    const fresh = await trial(storageMode).create(after.definition.fields, {
      uniqueSets: [['b', 'n']],
      indexes: [['-d', 'n']],
    });
    const count = (await tableObjects(database, fresh)).length;
    await eventually(async () => {
      const objects = await tableObjects(database, after);
      expect(objects.filter((name) => /invalid|constraint|trigger/.test(name))).toEqual([]);
      expect(objects).toHaveLength(count);
    });
    expect(await readValues(database, after, 'n')).toEqual(['1']);
    if (storageMode === 'JSONB') {
      await eventually(async () => {
        const [row] = await database.query<{ keys: string[] }>(
          `select array(select jsonb_object_keys(data) order by 1) as keys from drover_records.jsonb_records where id = $1`,
          [id],
        );
        expect(row?.keys).toEqual(['b', 'n_2']);
      });
    }
  });

  it('goes on after an interruption: an invalid index and half of its steps', async () => {
    const { name, create, definition } = trial(storageMode);
    const before = await create([text('a')]);
    const [first] = [
      await insertRecord(database, before, { a: 'x' }),
      await insertRecord(database, before, { a: 'y' }),
    ];
    const { changes, runner } = openRunner();
    const wanted = definition([text('a', { unique: true }), text('b', { required: true, default: 'b' })]);
    const change = await changes.request({ tenantId: tenant, name, definition: wanted, actor: 'key' });
    await updateRecord(database, before, first, ['a', 'y']);
    const planned = (await changes.inProgress(change?.id ?? ''))?.planned;
    const [index] = planned?.indexes ?? [];
    if (!planned || !index) throw new Error('the change has no index');
    const { createIndex } = await import('../storage/collection-indexes.js');
    await expect(database.query(createIndex(planned.after, index, 'concurrently').render().text)).rejects.toMatchObject(
      { code: '23505' },
    );
    expect(await tableObjects(database, before)).toContain(`index ${index.name} invalid`);
    await updateRecord(database, before, first, ['a', 'x']);
    await runner.start();
    expect(await endOf(changes, change?.id)).toMatchObject({ state: 'done' });
    expect(await tableObjects(database, before)).toContain(`index ${index.name}`);
    expect(await readValues(database, await currentModel(store, tenant, name), 'b')).toEqual(['b', 'b']);
  });

  it('is carried out once by several replicas', async () => {
    const { name, create, definition } = trial(storageMode);
    const before = await create([text('a')]);
    await insertRecord(database, before, { a: 'first' });
    await multiplyRecord(database, before, 600);
    const [one, other] = [openRunner(0), openRunner(0)];
    await Promise.all([one.runner.start(), other.runner.start()]);
    const wanted = definition([text('a'), { name: 'n', type: 'AUTO_NUMBER' }]);
    const change = await requestChange(other.runner, { tenantId: tenant, name, definition: wanted, actor: 'key' });
    expect(await endOf(one.changes, change?.id)).toMatchObject({ state: 'done', recordsDone: 601 });
    const after = await currentModel(store, tenant, name);
    const numbers = (await readValues(database, after, 'n')).map(Number).toSorted((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 601 }, (_, index) => index + 1));
  });

  it('does not make requests wait for a long transaction that uses the table', async () => {
    const { name, create, definition } = trial(storageMode);
    const before = await create([text('a')]);
    const { changes, runner } = openRunner();
    await runner.start();
    let change: CollectionChange | undefined;
    await database.transaction(async (tx) => {
      await insertRecord(tx, before, { a: 'in a long transaction' });
      change = await requestChange(runner, {
        tenantId: tenant,
        name,
        definition: definition([text('a'), text('b', { required: true, default: 'b' })]),
        actor: 'key',
      });
      // Each would fail if it waited for the change, which waits for this transaction.
      for (let turn = 0; turn < 20; turn += 1) {
        await database.transaction(async (other) => {
          await other.query(`set local lock_timeout = '2s'`);
          await insertRecord(other, before, { a: `${turn}` });
        });
      }
    });
    expect(await endOf(changes, change?.id)).toMatchObject({ state: 'done' });
    expect(new Set(await readValues(database, await currentModel(store, tenant, name), 'b'))).toEqual(new Set(['b']));
  });

  it('drops the table of a removed collection when it is due', async () => {
    const { name, create } = trial(storageMode);
    const { table } = await create([{ name: 'n', type: 'AUTO_NUMBER' }]);
    await store.remove(tenant, name);
    await openRunner().runner.start();
    await eventually(async () => {
      const left = await database.query(`select from pg_class where starts_with(relname, $1)`, [table]);
      expect(left).toEqual([]);
    });
  });
});

describe('a change of a definition', () => {
  it('cannot change how a collection is stored, or its name without the former one', async () => {
    const { name, create, definition } = trial('JSONB');
    await create([text('a')]);
    const { changes } = openRunner();
    const other = { ...definition([text('a')], { storageMode: 'PHYSICAL_TABLE' }), name: 'other' };
    expect((await changes.plan(tenant, name, other)).refusals.map(({ path }) => path)).toEqual([
      '/name',
      '/storageMode',
    ]);
  });

  it('is done at once if it does not concern the table, and is none if nothing changes', async () => {
    const { name, create, definition } = trial('PHYSICAL_TABLE');
    await create([text('a')]);
    const { changes } = openRunner();
    const request = { tenantId: tenant, name, actor: 'key' };
    expect(await changes.request({ ...request, definition: definition([text('a')]) })).toBeUndefined();
    const wanted = definition([text('b', { formerName: 'a' })], { displayName: 'B' });
    expect(await changes.plan(tenant, name, wanted)).toEqual({
      steps: [{ about: 'Rename field "a" to "b"', field: 'b', losesValues: false }],
      refusals: [],
    });
    expect(await changes.request({ ...request, definition: wanted, expectedVersion: 1 })).toMatchObject({
      state: 'done',
    });
    expect(await changes.request({ ...request, definition: wanted })).toBeUndefined();
    await expect(changes.request({ ...request, definition: definition([]), expectedVersion: 1 })).rejects.toMatchObject(
      {
        code: 'COLLECTION_VERSION_MISMATCH',
      },
    );
  });
});
