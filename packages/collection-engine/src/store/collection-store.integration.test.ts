import { collectionChanged, type CollectionDefinition, type PublishedEvent, type StorageMode } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, quietIo } from '@drover/database/testing';
import { PostgresEventBus } from '@drover/event-bus';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordsSchema } from '../storage/field-expression.js';
import { collectionTestSchema } from '../testing/index.js';
import { CollectionStore } from './collection-store.js';

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let bus: PostgresEventBus;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect({ poolSize: 20 });
  bus = new PostgresEventBus({ database, retentionMs: 60_000, ...quietIo, observe: () => undefined });
  await bus.start(new AbortController().signal);
});
afterAll(async () => {
  await bus.stop();
  await server.drop();
});

const named = (name: string, more: Partial<CollectionDefinition> = {}): CollectionDefinition => ({
  name,
  fields: [{ name: 'title', type: 'STRING' }],
  ...more,
});

describe('CollectionStore', () => {
  it.each<StorageMode>(['PHYSICAL_TABLE', 'JSONB'])(
    'creates a table with indexes for every name in mode %s',
    async (storageMode) => {
      const store = new CollectionStore({ database, bus });
      const names = [
        'order',
        'user',
        'select',
        'Größe-Ж',
        'xmin',
        'tenant_id',
        'data',
        'ctid',
        'é'.repeat(31),
        'a'.repeat(63),
      ];
      const fields: CollectionDefinition['fields'] = [
        ...names.map((name) => ({ name, type: 'STRING' as const, indexed: true, searchable: true })),
        { name: 'number', type: 'AUTO_NUMBER' },
        { name: 'tags', type: 'MULTI_PICKLIST', values: ['a'], indexed: true },
        { name: 'meta', type: 'JSON', indexed: true },
        { name: 'due', type: 'DATETIME', indexed: true },
        { name: 'total', type: 'CURRENCY', indexed: true },
        { name: 'done', type: 'BOOLEAN', indexed: true },
        { name: 'code', type: 'EXTERNAL_ID' },
        { name: 'parent', type: 'LOOKUP', references: { collection: 'order' } },
      ];
      const tenant = `names ${storageMode}`;
      const definition = named('order', {
        storageMode,
        fields,
        uniqueSets: [['user', 'due']],
        indexes: [['-due', 'createdAt'], ['total']],
      });
      const [created] = await store.create(tenant, [definition], 'key-1');
      expect(created).toMatchObject({ version: 1, createdBy: 'key-1', updatedBy: 'key-1', definition });
      expect(await store.find(tenant, 'order')).toEqual(created);
      expect(new Set(Object.values(created?.columns ?? {})).size).toBe(fields.length);
      const indexes = await database.query<{ indexname: string }>(
        'select indexname from pg_indexes where tablename = $1',
        [created?.table],
      );
      // The primary key, one for each field (`total` once), a unique set, a composite one and the full-text index.
      expect(indexes).toHaveLength(1 + fields.length + 1 + 1 + 1);
    },
  );

  it('refuses a name twice, and an unknown target', async () => {
    const store = new CollectionStore({ database, bus });
    await store.create('twice', [named('a')], 'key');
    await expect(store.create('twice', [named('b'), named('a')], 'key')).rejects.toMatchObject({
      code: 'COLLECTION_EXISTS',
    });
    const child = named('c', { fields: [{ name: 'a', type: 'LOOKUP', references: { collection: 'nowhere' } }] });
    await expect(store.create('twice', [child], 'key')).rejects.toMatchObject({
      code: 'COLLECTION_TARGET_MISSING',
      details: { targets: ['nowhere'] },
    });
    expect((await store.list('twice')).map(({ definition }) => definition.name)).toEqual(['a']);
  });

  it('creates exactly as many collections as the quota allows when fifty come at once', async () => {
    const store = new CollectionStore({ database, bus, maxCollections: 3 });
    await store.create('quota', [named('first'), named('second')], 'key');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => store.create('quota', [named(`more${index}`)], 'key')),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'COLLECTION_QUOTA_EXCEEDED' });
    }
    expect(await store.list('quota')).toHaveLength(3);
  });

  it('removes a collection that no other refers to, and publishes it', async () => {
    const events: PublishedEvent[] = [];
    await bus.subscribe({ topics: [collectionChanged], from: 'now', handle: (event) => void events.push(event) });
    const store = new CollectionStore({ database, bus });
    const child = named('child', { fields: [{ name: 'p', type: 'LOOKUP', references: { collection: 'parent' } }] });
    const [made] = await store.create('removal', [child, named('parent')], 'key');
    await expect(store.remove('removal', 'parent')).rejects.toMatchObject({
      code: 'COLLECTION_REFERENCED',
      details: { by: ['child'] },
    });
    await expect(store.remove('removal', 'child', 7)).rejects.toMatchObject({ code: 'COLLECTION_VERSION_MISMATCH' });
    expect(await store.remove('removal', 'child', 1)).toBe(true);
    expect(await store.remove('removal', 'child')).toBe(false);
    expect(await store.remove('removal', 'parent')).toBe(true);
    expect(await store.list('removal')).toEqual([]);
    // A worker that has not heard of it still reads and writes the table.
    expect(await database.query(`select from ${recordsSchema}."${made?.table}"`)).toEqual([]);
    await eventually(() =>
      expect(
        events
          .map(({ payload }) => payload as { name: string; tenantId: string; removed: boolean })
          .filter(({ tenantId }) => tenantId === 'removal')
          .map(({ name, removed }) => `${name} ${removed}`),
      ).toEqual(['child false', 'parent false', 'child true', 'parent true']),
    );
  });
});
