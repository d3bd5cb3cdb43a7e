import type { CollectionDefinition, FieldDefinition } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, quietIo } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { collectionTestSchema } from '../testing/index.js';
import { CollectionChanges, type RequestedSet, type StartedSet } from './collection-changes.js';
import type { AdmitNames } from './catalog-transaction.js';
import { CollectionStore } from './collection-store.js';
import { PicklistStore } from './picklist-store.js';
import { SchemaChangeRunner } from './schema-change-runner.js';
import { collectionExists } from './store-errors.js';
import { currentModel, endOf, insertRecord, readValues, tableObjects } from './schema-change.test.fixture.js';

const published: string[] = [];
const bus = {
  publish: (events: readonly { readonly payload: unknown }[]) => {
    published.push(...events.map(({ payload }) => (payload as { readonly name: string }).name)); // of this topic
    return Promise.resolve();
  },
};

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let store: CollectionStore;
let changes: CollectionChanges;
const admitAll: AdmitNames = () => Promise.resolve();
let admitNames = admitAll;
const runners: SchemaChangeRunner[] = [];
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect({ poolSize: 20 });
  store = new CollectionStore({ database, bus });
  changes = new CollectionChanges({
    database,
    bus,
    maxCollections: 4,
    cleanupDelayMs: 0,
    admitNames: (...asked) => admitNames(...asked),
  });
});
afterEach(() => {
  admitNames = admitAll;
  return Promise.all(runners.splice(0).map((runner) => runner.stop()));
});
afterAll(() => server.drop());

async function startRunner(): Promise<SchemaChangeRunner> {
  const runner = new SchemaChangeRunner({
    database,
    sessions: database,
    changes,
    ...quietIo,
    observe: () => undefined,
    pollMs: 20,
  });
  runners.push(runner);
  await runner.start();
  return runner;
}

const text = (name: string, more: Partial<FieldDefinition> = {}): FieldDefinition => ({
  name,
  type: 'STRING',
  ...more,
});
const named = (name: string, ...fields: readonly FieldDefinition[]): CollectionDefinition => ({
  name,
  storageMode: 'PHYSICAL_TABLE',
  fields: [...fields],
});

let tenants = 0;
/** A tenant with these collections, and functions that read and change them. */
async function openTenant(...definitions: readonly CollectionDefinition[]) {
  tenants += 1;
  const tenantId = `tenant-${tenants}`;
  await store.create(tenantId, definitions, 'key');
  return {
    tenantId,
    model: (name: string) => currentModel(store, tenantId, name),
    versions: async () =>
      Object.fromEntries((await store.list(tenantId)).map((one) => [one.definition.name, one.version])),
    request: (set: Pick<RequestedSet, 'changed' | 'created' | 'picklist'>): Promise<StartedSet> =>
      changes.requestSet({ tenantId, actor: 'key', ...set }),
  };
}

const to = (definition: CollectionDefinition, name = definition.name) => ({ name, definition });
const states = async ({ changes: started }: StartedSet) =>
  Promise.all(started.map(async ({ id }) => (await endOf(changes, id))?.state));

describe('a set of changes', () => {
  it('becomes current in one moment with the collections that it creates', async () => {
    const { request, versions, model } = await openTenant(named('a', text('x')), named('b', text('x')));
    const lookup: FieldDefinition = { name: 'c', type: 'LOOKUP', references: { collection: 'c' } };
    const started = await request({
      changed: [to(named('a', text('x', { indexed: true }), lookup)), to(named('b', text('x')))],
      created: [named('c', text('x'))],
    });
    expect(started.created).toEqual([]);
    expect(started.changes).toHaveLength(1);
    expect(await versions()).toEqual({ a: 1, b: 1 });
    await startRunner();
    expect(await states(started)).toEqual(['done']);
    expect(await versions()).toEqual({ a: 2, b: 1, c: 1 });
    expect((await model('a')).definition.fields).toHaveLength(2);
  });

  it('waits for the slowest of its changes, also after the runner was replaced', async () => {
    const { request, versions, model } = await openTenant(named('a', text('x')), named('b', text('x')));
    const before = await model('b');
    const started = await request({
      changed: [to(named('a', text('x', { indexed: true }))), to(named('b', text('x', { unique: true })))],
      created: [],
    });
    const waiting = (): Promise<void> =>
      eventually(async () => {
        const steps = await Promise.all(started.changes.map(({ id }) => changes.find(id)));
        expect(steps[0]).toMatchObject({ state: 'running', step: 'Wait for the other collections of the request' });
      });
    await database.transaction(async (tx) => {
      // The build of the index of "b" waits for this transaction.
      await insertRecord(tx, before, { x: '1' });
      const first = await startRunner();
      await waiting();
      await first.stop();
      await startRunner();
      await waiting();
      expect(await versions()).toEqual({ a: 1, b: 1 });
    });
    expect(await states(started)).toEqual(['done', 'done']);
    expect(await versions()).toEqual({ a: 2, b: 2 });
  });

  it('changes nothing if records are in the way of one, and leaves nothing behind', async () => {
    const { request, versions, model } = await openTenant(named('a', text('x')), named('b', text('x')));
    const [a, b] = [await model('a'), await model('b')];
    const objects = await tableObjects(database, a);
    const started = await request({
      changed: [
        to(named('a', text('x', { indexed: true }), text('y', { required: true, default: 'y' }))),
        to(named('b', text('x', { unique: true }))),
      ],
      created: [named('c')],
    });
    for (const _ of [1, 2]) await insertRecord(database, b, { x: 'same' }); // after the request was accepted
    await startRunner();
    expect(await states(started)).toEqual(['refused', 'refused']);
    expect(await versions()).toEqual({ a: 1, b: 1 });
    const [other, own] = await Promise.all(started.changes.map(({ id }) => changes.find(id)));
    expect(own?.refusals).toMatchObject([{ path: '/fields/0/unique', records: 2 }]);
    expect(other?.refusals).toMatchObject([{ collection: 'b', records: 2 }]);
    await eventually(async () => expect(await tableObjects(database, a)).toEqual(objects));
  });

  it('changes nothing if a name that it gives is taken elsewhere before it becomes current', async () => {
    const { request, versions } = await openTenant(named('a', text('x')));
    const set = {
      changed: [to({ ...named('taken', text('x', { indexed: true })), formerName: 'a' }, 'a')],
      created: [named('c')],
    };
    const asked: (readonly string[])[] = [];
    admitNames = async (_tx, _tenantId, names) => {
      asked.push(names);
      if (asked.length > 1) throw collectionExists({ collection: 'taken' });
    };
    const started = await request(set);
    await startRunner();
    expect(await states(started)).toEqual(['refused']);
    expect(asked).toEqual([
      ['taken', 'c'],
      ['taken', 'c'],
    ]);
    expect(await versions()).toEqual({ a: 1 });
    await expect(request(set)).rejects.toMatchObject({ code: 'COLLECTION_EXISTS' });
  });

  it('changes nothing if it may not create a collection any more', async () => {
    const { tenantId, request, versions } = await openTenant(named('a', text('x')));
    const set = { changed: [to(named('a', text('x', { indexed: true })))], created: [named('c')] };
    const taken = await request(set);
    await store.create(tenantId, [named('c')], 'key');
    await startRunner();
    expect(await states(taken)).toEqual(['refused']);
    expect(await versions()).toEqual({ a: 1, c: 1 });
    const tooMany = { changed: set.changed, created: ['d', 'e', 'f'].map((name) => named(name)) };
    expect(await states(await request(tooMany))).toEqual(['refused']);
    expect(await versions()).toEqual({ a: 1, c: 1 });
  });

  it('changes nothing if one of its collections is deleted meanwhile', async () => {
    const { tenantId, request, versions } = await openTenant(named('a', text('x')), named('b', text('x')));
    const indexed = text('x', { indexed: true });
    const started = await request({ changed: [to(named('a', indexed)), to(named('b', indexed))], created: [] });
    await store.remove(tenantId, 'b');
    await startRunner();
    expect(await states(started)).toEqual(['refused', undefined]);
    expect(await versions()).toEqual({ a: 1 });
  });

  it('refuses all at once what is known before it starts', async () => {
    const { request, versions } = await openTenant(named('a', text('x')));
    await expect(
      request({ changed: [to(named('a')), to(named('missing'))], created: [named('c')] }),
    ).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
    const shown = { ...named('a', text('x')), displayName: 'A' };
    await expect(request({ changed: [to(shown)], created: [named('a')] })).rejects.toMatchObject({
      code: 'COLLECTION_EXISTS',
    });
    expect(await versions()).toEqual({ a: 1 });
  });
});

describe('a renamed collection', () => {
  const lookup = (collection: string): FieldDefinition => ({
    name: 'owner',
    type: 'LOOKUP',
    references: { collection },
  });

  it('keeps its records, and those of others that refer to it', async () => {
    const { tenantId, request, versions, model } = await openTenant(
      named('customers', text('x')),
      named('orders', lookup('customers')),
    );
    const id = await insertRecord(database, await model('customers'), { x: 'Ada' });
    await insertRecord(database, await model('orders'), { owner: id });
    const changed = [
      to({ ...named('clients', text('x')), formerName: 'customers' }, 'customers'),
      to(named('orders', lookup('clients'))),
    ];
    expect(
      await changes.plan(tenantId, 'orders', named('orders', lookup('clients')), new Map([['customers', 'clients']])),
    ).toEqual({
      steps: [{ about: 'Refer to "clients", which was named "customers"', losesValues: false }],
      refusals: [],
    });
    published.length = 0;
    const started = await request({ changed, created: [] });
    expect(started.changes.map(({ state }) => state)).toEqual(['done', 'done']); // without a runner
    expect(published).toEqual(['clients', 'orders']);
    expect(await versions()).toEqual({ clients: 2, orders: 2 });
    const clients = await model('clients');
    expect(clients.definition).not.toHaveProperty('formerName');
    expect(await readValues(database, clients, 'x')).toEqual(['Ada']);
    expect(await readValues(database, await model('orders'), 'owner')).toEqual([id]);
    expect(await store.renamedTo(tenantId, 'customers')).toBe('clients');
    expect(await store.renamedTo(tenantId, 'clients')).toBeUndefined();
  });

  it('is renamed together with other changes that take time, and leaves its name to a new collection', async () => {
    const { tenantId, request, versions, model } = await openTenant(
      named('customers', text('x')),
      named('orders', lookup('customers'), text('x')),
    );
    const id = await insertRecord(database, await model('customers'), { x: 'Ada' });
    await insertRecord(database, await model('orders'), { owner: id });
    const started = await request({
      changed: [
        to({ ...named('clients', text('x', { indexed: true })), formerName: 'customers' }, 'customers'),
        to(named('orders', { ...lookup('clients'), type: 'MASTER_DETAIL', required: true }, text('x'))),
      ],
      created: [named('customers')],
    });
    await startRunner();
    expect(await states(started)).toEqual(['done', 'done']);
    expect(await versions()).toEqual({ clients: 2, customers: 1, orders: 2 });
    expect(await readValues(database, await model('orders'), 'owner')).toEqual([id]);
    expect(await store.renamedTo(tenantId, 'customers')).toBe('clients');
  });
});

describe('a picklist', () => {
  const sized = (...values: string[]): FieldDefinition => ({
    name: 'size',
    type: 'PICKLIST',
    picklist: 'sizes',
    values,
  });
  const sizes = (...values: string[]) => ({ name: 'sizes', values });
  const open = async () => {
    const tenant = await openTenant();
    await tenant.request({ changed: [], created: [], picklist: sizes('s', 'm') });
    const picklists = new PicklistStore(database);
    await store.create(tenant.tenantId, [named('a', sized('s', 'm')), named('b', sized('s', 'm'))], 'key');
    const values = async () =>
      (await picklists.list(tenant.tenantId)).map(({ definition }) => definition.values.join());
    const change = (...all: string[]) =>
      tenant.request({
        changed: [to(named('a', sized(...all))), to(named('b', sized(...all)))],
        created: [],
        picklist: sizes(...all),
      });
    return { ...tenant, picklists, values, change };
  };

  it('changes in one moment with all fields that use it', async () => {
    const { change, values, versions, model } = await open();
    const started = await change('s', 'm', 'l');
    expect(await values()).toEqual(['s,m']);
    await startRunner();
    expect(await states(started)).toEqual(['done', 'done']);
    expect([await values(), await versions()]).toEqual([['s,m,l'], { a: 2, b: 2 }]);
    expect((await model('b')).fields.get('size')?.definition.values).toEqual(['s', 'm', 'l']);
  });

  it('keeps its values if a record has one that is removed', async () => {
    const { change, values, versions, model } = await open();
    await insertRecord(database, await model('b'), { size: 'm' });
    await expect(change('s')).rejects.toMatchObject({
      code: 'COLLECTION_CHANGE_REFUSED',
      details: { collection: 'b', refusals: [{ path: '/fields/0/values', records: 1 }] },
    });
    expect([await values(), await versions()]).toEqual([['s,m'], { a: 1, b: 1 }]);
  });

  it('does not change without a collection that uses it, or will do so soon', async () => {
    const { request, change, tenantId, picklists, versions } = await open();
    const changed = { code: 'PICKLIST_CHANGED' };
    const onlyOne = { changed: [to(named('a', sized('l')))], created: [], picklist: sizes('l') };
    await expect(request(onlyOne)).rejects.toMatchObject(changed);
    await expect(request({ changed: [], created: [named('c', sized('s'))] })).rejects.toMatchObject(changed);
    await expect(store.create(tenantId, [named('c', sized('s'))], 'key')).rejects.toMatchObject(changed);
    await store.create(tenantId, [named('c', text('x'))], 'key');
    const running = await request({ changed: [to(named('c', text('x'), sized('s', 'm')))], created: [] });
    await expect(change('s', 'm', 'l')).rejects.toMatchObject(changed);
    await expect(picklists.remove(tenantId, 'sizes')).rejects.toMatchObject({ details: { by: ['a', 'b', 'c'] } });
    await startRunner();
    expect(await states(running)).toEqual(['done']);
    for (const name of Object.keys(await versions())) await store.remove(tenantId, name);
    expect(await picklists.remove(tenantId, 'sizes')).toBe(true);
    expect(await picklists.remove(tenantId, 'sizes')).toBe(false);
  });

  it('that depends on another is not accepted while records do not fit', async () => {
    const { request, model } = await openTenant(
      named(
        'a',
        { name: 'x', type: 'PICKLIST', values: ['1', '2'] },
        { name: 'y', type: 'PICKLIST', values: ['a', 'b'] },
      ),
    );
    await insertRecord(database, await model('a'), { x: '1', y: 'b' });
    const dependent = (...allowed: string[]): CollectionDefinition =>
      named(
        'a',
        { name: 'x', type: 'PICKLIST', values: ['1', '2'] },
        { name: 'y', type: 'PICKLIST', values: ['a', 'b'], dependsOn: { field: 'x', values: { 1: allowed } } },
      );
    await expect(request({ changed: [to(dependent('a'))], created: [] })).rejects.toMatchObject({
      details: { refusals: [{ path: '/fields/1/dependsOn', records: 1 }] },
    });
    const started = await request({ changed: [to(dependent('b'))], created: [] });
    await startRunner();
    expect(await states(started)).toEqual(['done']);
  });
});
