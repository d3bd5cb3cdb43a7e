import path from 'node:path';
import type { CollectionDefinition, FieldDefinition, StorageMode } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase } from '@drover/database/testing';
import { Child, eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectionTestSchema } from '../testing/index.js';
import { CollectionChanges } from './collection-changes.js';
import { CollectionStore } from './collection-store.js';
import { currentModel, insertRecord, multiplyRecord, tableObjects } from './schema-change.test.fixture.js';
import { RequestLoad } from './request-load.test.fixture.js';

const program = path.resolve(import.meta.dirname, '../../dist/testing/schema-change-program.js');
const bus = { publish: () => Promise.resolve() };
const tenant = 'acme';
/** Longer than the slowest request of a busy machine. */
const cleanupDelayMs = 8_000;
const preloaded = 4_000;

let server: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let runner: Child;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect({ poolSize: 20 });
  runner = await startRunner();
});
afterAll(async () => {
  await runner.end();
  await server.drop();
});

async function startRunner(): Promise<Child> {
  const child = new Child(process.execPath, [program], { env: { ...process.env, DATABASE_URL: server.url.reveal() } });
  await child.line(/^ready/);
  return child;
}

const number: FieldDefinition = { name: 'number', type: 'STRING', unique: true };
const quantity: FieldDefinition = { name: 'quantity', type: 'INTEGER', indexed: true };
const region: FieldDefinition = { name: 'region', type: 'STRING', required: true, default: 'north' };
const remark: FieldDefinition = { name: 'remark', type: 'STRING', indexed: true, searchable: true };

/** What each change does, and whether the process that does it is killed meanwhile. */
const steps: readonly [string, Omit<CollectionDefinition, 'name'>, 'killed' | undefined][] = [
  [
    'adds a field',
    { fields: [number, quantity, { name: 'note', type: 'STRING' }, { name: 'color', type: 'STRING' }] },
    undefined,
  ],
  ['adds a required field', { fields: [number, quantity, { name: 'note', type: 'STRING' }, region] }, 'killed'],
  [
    'renames a field',
    { fields: [number, quantity, { name: 'remark', type: 'STRING', formerName: 'note' }, region] },
    undefined,
  ],
  [
    'widens a field',
    { fields: [number, { ...quantity, type: 'LONG' }, { name: 'remark', type: 'STRING' }, region] },
    undefined,
  ],
  [
    'builds indexes',
    { fields: [number, { ...quantity, type: 'LONG' }, remark, region], uniqueSets: [['number', 'region']] },
    'killed',
  ],
  [
    'retypes a field',
    { fields: [number, { ...quantity, type: 'DOUBLE' }, remark, region], uniqueSets: [['number', 'region']] },
    undefined,
  ],
  [
    'removes fields and constraints',
    { fields: [number, { ...quantity, type: 'DOUBLE' }, { ...region, required: false }] },
    undefined,
  ],
];

describe('changes of all kinds under 200 requests per second', () => {
  it.each<StorageMode>(['PHYSICAL_TABLE', 'JSONB'])(
    'fail no request and lose nothing in mode %s, while the process that makes them is killed',
    async (storageMode) => {
      const name = `orders-${storageMode}`;
      const store = new CollectionStore({ database, bus });
      const changes = new CollectionChanges({ database, bus, cleanupDelayMs });
      await store.create(
        tenant,
        [{ name, storageMode, fields: [{ ...number, unique: false }, quantity, { name: 'note', type: 'STRING' }] }],
        'key',
      );
      const first = await currentModel(store, tenant, name);
      await insertRecord(database, first, { quantity: 1, note: 'preloaded' });
      await multiplyRecord(database, first, preloaded);
      const load = new RequestLoad({ database, model: () => currentModel(store, tenant, name), lagsMs: [0, 400] });
      await load.start();
      for (const [, definition, isKilled] of steps) {
        const wanted = { name, storageMode, ...definition };
        const change = await changes.request({ tenantId: tenant, name, definition: wanted, actor: 'key' });
        if (isKilled) {
          await eventually(async () => {
            const { state, step } = (await changes.find(change?.id ?? '')) ?? {};
            expect(state !== 'running' || step !== '').toBe(true);
          });
          runner.kill('SIGKILL');
          await runner.exited;
          runner = await startRunner();
        }
        await eventually(async () => expect((await changes.find(change?.id ?? ''))?.state).toBe('done'));
      }
      await eventually(() => expect(load.created.size).toBeGreaterThan(100)); // as many on a slow machine
      const { failures } = await load.stop();
      expect(failures).toEqual([]);
      const last = await currentModel(store, tenant, name);
      expect(last.version).toBe(1 + steps.length);
      expect(await load.differences(last)).toEqual([]);
      await eventually(async () => {
        const objects = await tableObjects(database, last);
        expect(objects.filter((object) => /invalid|constraint|trigger/.test(object))).toEqual([]);
      });
    },
  );
});
