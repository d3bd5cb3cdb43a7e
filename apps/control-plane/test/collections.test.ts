import {
  collectionRoutes,
  createClient,
  picklistRoutes,
  type Client,
  type CollectionDefinition,
  type Scope,
} from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { idOf, startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';
import { storeKey } from './support/stored-keys.js';

let test: TestDatabase;
let database: Database;
let plane: RunningControlPlane;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  plane = await startControlPlane(test.url, { DROVER_MAX_COLLECTIONS: '12' });
  database = await test.connect();
});
afterAll(async () => {
  await plane?.stop();
  await test.drop();
});

/** A client with a key of a tenant of its own. */
async function tenant(
  tenantId: string,
  scopes: Scope[] = ['collections:define'],
): Promise<Client<typeof collectionRoutes> & { readonly key: string }> {
  const key = await storeKey(database, { tenantId, scopes });
  return { ...createClient(collectionRoutes, { url: plane.url, apiKey: key }), key };
}

const orders: CollectionDefinition = {
  name: 'orders',
  fields: [{ name: 'number', type: 'STRING', required: true, unique: true }],
};
const by = (collection: string) => ({ params: { collection }, query: {} });

describe('defining a collection', () => {
  it('stores it in its normal form with its author, and makes its table', async () => {
    const client = await tenant('defines');
    const body = {
      name: 'Bestellungen-ä',
      fields: [{ name: 'größe', type: 'number', defaultValue: 3, description: null }],
    };
    const created = await client.createCollection({ body: body as unknown as CollectionDefinition }); // as users write it
    expect(created).toMatchObject({
      name: 'Bestellungen-ä',
      version: 1,
      definition: { storageMode: 'PHYSICAL_TABLE', fields: [{ name: 'größe', type: 'DOUBLE', default: 3 }] },
      createdBy: idOf(client.key),
      updatedBy: idOf(client.key),
    });
    expect(created.definition.fields[0]).not.toHaveProperty('description');
    await expect(client.getCollection(by('Bestellungen-ä'))).resolves.toEqual(created);
    const [row] = await database.query<{ table_name: string }>(
      'select table_name from drover.collection_versions where collection_id = $1',
      [created.id],
    );
    const columns = await database.query<{ column_name: string }>(
      `select column_name from information_schema.columns where table_schema = 'drover_records' and table_name = $1`,
      [row?.table_name],
    );
    expect(columns.map((one) => one.column_name)).toContain('größe');
  });

  it.each(['order', 'user', 'select', 'ключи', 'plan', 'a'.repeat(63)])(
    'takes the name %s, in both modes of storage',
    async (name) => {
      for (const storageMode of ['PHYSICAL_TABLE', 'JSONB'] as const) {
        const client = await tenant(`names-${storageMode}`);
        const fields = [{ name, type: 'STRING' as const, indexed: true }];
        await client.createCollection({ body: { name, storageMode, fields } });
        await expect(client.getCollection(by(name))).resolves.toMatchObject({ name, definition: { storageMode } });
      }
    },
  );

  it('names every problem with its place', async () => {
    const { key } = await tenant('problems');
    const json = {
      name: 'or ders',
      fields: [
        { name: 'id', type: 'STRING' },
        { name: 'a', type: 'STRNG' },
        { name: 'b', type: 'STRING', constraints: { pattern: '(' } },
      ],
      displayNme: 'x',
    };
    const answer = await plane.request('/control/collections', { method: 'POST', key, json });
    expect(answer).toBeRefusedWith(400, 'COLLECTION_DEFINITION_INVALID');
    const { details } = answer.body as { readonly details: readonly { path: string; message: string }[] };
    expect(details.map(({ path }) => path).toSorted()).toEqual([
      '/displayNme',
      '/fields/0/name',
      '/fields/1/type',
      '/fields/2/constraints/pattern',
      '/name',
    ]);
    expect(details.find(({ path }) => path === '/displayNme')?.message).toContain('displayName');
    for (const nothing of [undefined, null, [], 'x'])
      expect(await plane.request('/control/collections', { method: 'POST', key, json: nothing })).toBeRefusedWith(
        400,
        'COLLECTION_DEFINITION_INVALID',
      );
  });

  it('refuses a name that is taken and a target that is missing', async () => {
    const client = await tenant('conflicts');
    await client.createCollection({ body: orders });
    await expect(client.createCollection({ body: orders })).rejects.toMatchObject({ code: 'COLLECTION_EXISTS' });
    const lines = {
      name: 'lines',
      fields: [{ name: 'order', type: 'MASTER_DETAIL' as const, references: { collection: 'order' } }],
    };
    const refused = client.createCollection({ body: lines });
    await expect(refused).rejects.toThrow('Did you mean "orders"?');
  });

  it('keeps to the most collections of a tenant when many are made at a time', async () => {
    const client = await tenant('quota');
    const make = (n: number) => client.createCollection({ body: { name: `c${n}`, fields: [] } });
    const made = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => make(n)));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(12);
    const refused = made.filter((one) => one.status === 'rejected');
    expect(new Set(refused.map(({ reason }) => (reason as { code: string }).code))).toEqual(
      new Set(['COLLECTION_QUOTA_EXCEEDED']),
    );
  });
});

describe('reading definitions', () => {
  it('pages through them by name, each tenant its own', async () => {
    const client = await tenant('pages');
    for (const name of ['b', 'ä', 'a', '𝒶', 'c']) await client.createCollection({ body: { name, fields: [] } });
    const names: string[] = [];
    let after: string | undefined;
    do {
      const page = await client.listCollections({ query: { limit: 2, ...(after !== undefined && { after }) } });
      names.push(...page.collections.map(({ name }) => name));
      after = page.next;
    } while (after !== undefined);
    expect(names).toEqual(['a', 'b', 'c', 'ä', '𝒶']);
    const other = await tenant('pages-2');
    await expect(other.listCollections({ query: {} })).resolves.toEqual({ collections: [] });
    await expect(other.getCollection(by('a'))).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
  });

  it('suggests a similar name, and knows no version that there is not', async () => {
    const client = await tenant('similar');
    await client.createCollection({ body: orders });
    await expect(client.getCollection(by('order'))).rejects.toThrow('Did you mean "orders"?');
    const params = { collection: 'orders', version: 2 };
    await expect(client.getCollectionVersion({ params })).rejects.toMatchObject({ code: 'COLLECTION_VERSION_UNKNOWN' });
    await expect(client.listCollectionVersions(by('orders'))).resolves.toMatchObject({
      versions: [{ version: 1, createdBy: idOf(client.key) }],
    });
    await expect(client.getCollectionVersion({ params: { ...params, version: 1 } })).resolves.toMatchObject({
      definition: orders,
    });
  });
});

describe('changing a collection', () => {
  it('makes a version of each change, with its author', async () => {
    const client = await tenant('changes');
    const { id } = await client.createCollection({ body: orders });
    const note = { name: 'note', type: 'TEXT' as const };
    await expect(client.addField({ ...by('orders'), body: note })).resolves.toMatchObject({ id, version: 2 });
    const second = await tenant('changes');
    await second.replaceField({
      params: { collection: 'orders', field: 'note' },
      query: {},
      body: { ...note, name: 'remark' },
    });
    await second.patchCollection({ ...by('orders'), body: { displayName: 'Orders', displayField: 'remark' } });
    const renamed = await second.replaceField({
      params: { collection: 'orders', field: 'remark' },
      query: {},
      body: { ...note, name: 'text' },
    });
    expect(renamed.definition).toMatchObject({ displayName: 'Orders', displayField: 'text' });
    await client.patchCollection({ ...by('orders'), body: { displayName: null, displayField: null } });
    const last = await client.removeField({ params: { collection: 'orders', field: 'text' }, query: {} });
    expect(last).toMatchObject({ id, version: 7, definition: orders });
    expect(last.definition).not.toHaveProperty('displayName');
    const { versions } = await client.listCollectionVersions(by('orders'));
    const [first, other] = [idOf(client.key), idOf(second.key)];
    expect(versions.map(({ version, createdBy }) => [version, createdBy])).toEqual([
      [7, first],
      [6, first],
      [5, other],
      [4, other],
      [3, other],
      [2, first],
      [1, first],
    ]);
    const before = await client.getCollectionVersion({ params: { collection: 'orders', version: 3 } });
    expect(before.definition.fields.map(({ name }) => name)).toEqual(['number', 'remark']);
    const { changes } = await client.listCollectionChanges(by('orders'));
    expect(changes[0]).toMatchObject({
      state: expect.stringMatching(/done|running/),
      fromVersion: 6,
      createdBy: first,
    });
  });

  it('takes the expected version only, and loses no change of two made at a time', async () => {
    const client = await tenant('changes-2');
    await client.createCollection({ body: orders });
    const stale = client.replaceCollection({ ...by('orders'), query: { expectedVersion: 2 }, body: orders });
    await expect(stale).rejects.toMatchObject({ code: 'COLLECTION_VERSION_MISMATCH' });
    const add = (name: string) => client.addField({ ...by('orders'), body: { name, type: 'STRING' } });
    await Promise.all(['a', 'b', 'c'].map(add));
    const { version, definition } = await client.getCollection(by('orders'));
    expect(version).toBe(4);
    expect(definition.fields.map(({ name }) => name).toSorted()).toEqual(['a', 'b', 'c', 'number']);
    const same = await client.replaceCollection({ ...by('orders'), body: definition });
    expect(same.version).toBe(4);
  });

  it('changes the values of a picklist with the fields that use it, which keys of other collections do not see', async () => {
    const client = await tenant('picklists');
    const picklists = createClient(picklistRoutes, { url: plane.url, apiKey: client.key });
    const params = { picklist: 'colours' };
    await picklists.putPicklist({ params, body: { name: 'colours', values: ['red', 'blue'] } });
    const colour = { name: 'colour', type: 'PICKLIST' as const, picklist: 'colours' };
    await client.createCollection({ body: { name: 'cars', fields: [colour] } });
    await picklists.putPicklist({ params, body: { name: 'colours', values: ['red', 'blue', 'green'] } });
    const { definition } = await client.getCollection(by('cars'));
    expect(definition.fields[0]?.values).toEqual(['red', 'blue', 'green']);
    expect(await picklists.getPicklist({ params })).toMatchObject({
      usedBy: [{ collection: 'cars', field: 'colour' }],
    });
    const limited = await tenant('picklists', ['collections:define:bikes']);
    const other = createClient(picklistRoutes, { url: plane.url, apiKey: limited.key });
    expect(await other.getPicklist({ params })).toMatchObject({ usedBy: [] });
    const changed = other.putPicklist({ params, body: { name: 'colours', values: ['red'] } });
    await expect(changed).rejects.toMatchObject({ status: 403 });
    await expect(picklists.deletePicklist({ params })).rejects.toMatchObject({ code: 'PICKLIST_IN_USE' });
  });

  it('takes another name for a new one, refuses a field that is not there, and names places in the body', async () => {
    const client = await tenant('changes-3');
    await client.createCollection({ body: { ...orders, name: 'purchases' } });
    const renamed = client.replaceCollection({ ...by('purchases'), body: orders });
    expect(await renamed).toMatchObject({ name: 'orders', version: 2 });
    await expect(client.getCollection(by('purchases'))).rejects.toThrow('It was renamed to "orders"');
    const unknown = client.removeField({ params: { collection: 'orders', field: 'nummer' }, query: {} });
    await expect(unknown).rejects.toThrow('Did you mean "number"?');
    const { key } = client;
    const answer = await plane.request('/control/collections/orders/fields', {
      method: 'POST',
      key,
      json: { name: 'x', type: 'T' },
    });
    expect(answer).toBeRefusedWith(400, 'COLLECTION_DEFINITION_INVALID');
    expect(answer.body).toMatchObject({ details: [{ path: '/type' }] });
  });

  it('keeps keys limited to collections that are renamed, several at once too', async () => {
    const client = await tenant('changes-keys');
    const named = (name: string, formerName?: string) => ({
      ...orders,
      name,
      ...(formerName !== undefined && { formerName }),
    });
    for (const name of ['parcels', 'letters']) await client.createCollection({ body: named(name) });
    const scopes: Scope[] = [
      'records:read:letters',
      'collections:define:parcels',
      'functions:invoke',
      'records:write:parcels',
    ];
    const key = await storeKey(database, { tenantId: 'changes-keys', scopes });
    const stranger = await storeKey(database, { tenantId: 'another', scopes });
    const limited = createClient(collectionRoutes, { url: plane.url, apiKey: key });
    expect(await limited.getCollection(by('parcels'))).toMatchObject({ name: 'parcels' });
    await client.patchCollection({ ...by('parcels'), body: { name: 'boxes' } });
    const boxes = await eventually(() => limited.getCollection(by('boxes')));
    expect(boxes).toMatchObject({ name: 'boxes', version: 2 });
    const collections = [named('crates', 'boxes'), named('mails', 'letters')];
    await client.applyCollections({ body: { collections } });
    const scopesOf = async (of: string): Promise<unknown> =>
      (await database.query('select scopes from drover.api_keys where id = $1', [idOf(of)]))[0];
    expect(await scopesOf(key)).toEqual({
      scopes: ['records:read:mails', 'collections:define:crates', 'functions:invoke', 'records:write:crates'],
    });
    expect(await scopesOf(stranger)).toEqual({ scopes });
    const crates = await eventually(() => limited.getCollection(by('crates')));
    expect(crates).toMatchObject({ name: 'crates' });
    await client.createCollection({ body: named('parcels') });
    await expect(limited.getCollection(by('parcels'))).rejects.toMatchObject({ status: 403 });
  });

  it('refuses a change that records are in the way of, with their number', async () => {
    const client = await tenant('changes-4');
    const { id } = await client.createCollection({
      body: { name: 'notes', fields: [{ name: 'text', type: 'STRING' }] },
    });
    const [row] = await database.query<{ table_name: string }>(
      'select table_name from drover.collection_versions where collection_id = $1',
      [id],
    );
    await database.query(
      `insert into drover_records."${row?.table_name}" (tenant_id, id, created_by, updated_by, text)
       select 'changes-4', gen_random_uuid(), 'k', 'k', 'abc' from generate_series(1, 3)`,
    );
    const field = { name: 'text', type: 'INTEGER' as const };
    const { plans } = await client.planCollections({ body: { collections: [{ name: 'notes', fields: [field] }] } });
    expect(plans).toMatchObject([{ action: 'change', fromVersion: 1, refusals: [{ records: 3 }] }]);
    const refused = client.replaceField({ params: { collection: 'notes', field: 'text' }, query: {}, body: field });
    await expect(refused).rejects.toMatchObject({ code: 'COLLECTION_CHANGE_REFUSED' });
    await expect(client.getCollection(by('notes'))).resolves.toMatchObject({ version: 1 });
  });
});

describe('applying a set of definitions', () => {
  const lines = (...fields: CollectionDefinition['fields']): CollectionDefinition => ({
    name: 'lines',
    fields: [{ name: 'order', type: 'MASTER_DETAIL', references: { collection: 'orders' } }, ...fields],
  });
  const rollup: CollectionDefinition['fields'][number] = {
    name: 'count',
    type: 'ROLLUP_SUMMARY',
    rollup: { collection: 'lines', via: 'order', function: 'COUNT' },
  };
  const parent = { ...orders, fields: [...orders.fields, rollup] };

  it('creates collections that refer to each other, changes what is there, and repeats without an effect', async () => {
    const client = await tenant('sets');
    const collections = [parent, lines()];
    const planned = await client.planCollections({ body: { collections } });
    expect(planned.plans).toMatchObject([
      { collection: 'orders', action: 'create' },
      { collection: 'lines', action: 'create' },
    ]);
    await expect(client.listCollections({ query: {} })).resolves.toEqual({ collections: [] });
    const applied = await client.applyCollections({ body: { collections } });
    expect(applied.plans).toEqual(planned.plans);
    expect(applied.collections.map(({ name, version }) => [name, version])).toEqual([
      ['orders', 1],
      ['lines', 1],
    ]);

    const more = { collections: [lines({ name: 'amount', type: 'DOUBLE' }), parent, { name: 'notes', fields: [] }] };
    const { plans } = await client.planCollections({ body: more });
    expect(plans).toMatchObject([
      { collection: 'lines', action: 'change', fromVersion: 1, steps: [{ field: 'amount', losesValues: false }] },
      { collection: 'orders', action: 'none', steps: [] },
      { collection: 'notes', action: 'create' },
    ]);
    const changed = await client.applyCollections({ body: more });
    expect(changed.collections.map(({ name, version }) => [name, version])).toEqual([
      ['lines', 2],
      ['orders', 1],
      ['notes', 1],
    ]);
    const again = await client.applyCollections({ body: more });
    expect(again.plans.map(({ action }) => action)).toEqual(['none', 'none', 'none']);
    const removal = await client.planCollections({ body: { collections: [lines()] } });
    expect(removal.plans).toMatchObject([{ steps: [{ field: 'amount', losesValues: true }] }]);
  });

  it('does nothing if one of them is refused, and says which', async () => {
    const client = await tenant('sets-2');
    const answer = await plane.request('/control/collections', {
      method: 'PUT',
      key: client.key,
      json: { collections: [orders, { name: 'lines', fields: [{ name: 'a', type: 'x' }] }] },
    });
    expect(answer).toBeRefusedWith(400, 'COLLECTION_DEFINITION_INVALID');
    expect(answer.body).toMatchObject({ details: [{ path: '/collections/1/fields/0/type' }] });
    await expect(client.listCollections({ query: {} })).resolves.toEqual({ collections: [] });
    for (const json of [{}, { collections: [] }, { collections: 7 }, [], undefined])
      expect(
        await plane.request('/control/collections/plan', { method: 'POST', key: client.key, json }),
      ).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });

  it('needs the scope of every collection in it', async () => {
    const { key } = await tenant('sets-3', ['collections:define:orders']);
    for (const [method, path] of [
      ['PUT', ''],
      ['POST', '/plan'],
    ] as const)
      expect(
        await plane.request(`/control/collections${path}`, { method, key, json: { collections: [orders, lines()] } }),
      ).toBeRefusedWith(403, 'ACCESS_DENIED');
    const applied = await plane.request('/control/collections', {
      method: 'PUT',
      key,
      json: { collections: [orders] },
    });
    expect(applied.status).toBe(200);
  });
});

describe('deleting a collection', () => {
  it('takes the expected version only, and frees the name', async () => {
    const client = await tenant('deletes');
    await client.createCollection({ body: orders });
    const stale = client.deleteCollection({ ...by('orders'), query: { expectedVersion: 2 } });
    await expect(stale).rejects.toMatchObject({ code: 'COLLECTION_VERSION_MISMATCH' });
    await client.deleteCollection({ ...by('orders'), query: { expectedVersion: 1 } });
    await expect(client.getCollection(by('orders'))).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
    await expect(client.deleteCollection(by('orders'))).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
    await expect(client.createCollection({ body: orders })).resolves.toMatchObject({ version: 1 });
  });
});

describe('a key that is limited to collections', () => {
  it('sees and changes these only', async () => {
    const admin = await tenant('limited');
    await admin.createCollection({ body: orders });
    const { key, ...limited } = await tenant('limited', ['collections:define:lines', 'collections:define:notes']);
    await expect(limited.listCollections({ query: {} })).resolves.toEqual({ collections: [] });
    const ask = (method: string, path: string, json?: unknown) =>
      plane.request(`/control/collections${path}`, { method, key, ...(json !== undefined && { json }) });
    for (const [method, path, json] of [
      ['GET', '/orders'],
      ['GET', '/orders/versions'],
      ['DELETE', '/orders'],
      ['PUT', '/orders', orders],
      ['PATCH', '/orders', {}],
      ['POST', '/orders/fields', { name: 'x', type: 'STRING' }],
      ['DELETE', '/orders/fields/number'],
      ['POST', '', { name: 'others', fields: [] }],
    ] as const)
      expect(await ask(method, path, json)).toBeRefusedWith(403, 'ACCESS_DENIED');
    await limited.createCollection({
      body: { name: 'lines', fields: [{ name: 'order', type: 'LOOKUP', references: { collection: 'orders' } }] },
    });
    expect((await limited.listCollections({ query: {} })).collections.map(({ name }) => name)).toEqual(['lines']);
    await expect(admin.deleteCollection(by('orders'))).rejects.toMatchObject({ code: 'COLLECTION_REFERENCED' });
    await limited.deleteCollection(by('lines'));
  });

  it('is no key for definitions without such a scope', async () => {
    const { key } = await tenant('limited', ['control:read', 'control:write', 'records:write']);
    expect(await plane.request('/control/collections', { key })).toBeRefusedWith(403, 'ACCESS_DENIED');
  });
});
