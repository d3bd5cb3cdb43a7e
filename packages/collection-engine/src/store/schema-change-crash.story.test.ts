import { storageModes, type CollectionDefinition, type FieldDefinition, type StorageMode } from '@drover/contracts';
import { Database, migrate, type EmbeddedPostgres } from '@drover/database';
import { quietIo, startScratchPostgres } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { collectionTestSchema } from '../testing/index.js';
import { CollectionChanges } from './collection-changes.js';
import { CollectionStore } from './collection-store.js';
import { currentModel, insertRecord, multiplyRecord, readValues, tableObjects } from './schema-change.test.fixture.js';
import { SchemaChangeRunner } from './schema-change-runner.js';

let scratch: { readonly server: EmbeddedPostgres; readonly stop: () => Promise<void> };
let database: Database;
beforeAll(async () => {
  scratch = await startScratchPostgres();
  database = new Database({ url: scratch.server.url, applicationName: 'story', poolSize: 4, ...quietIo });
  await migrate(database, collectionTestSchema, { release: 'test', ...quietIo });
});
afterAll(async () => {
  await database.stop();
  await scratch.stop();
});

const bus = { publish: () => Promise.resolve() };
const tenant = 'acme';
const preloaded = 1_200; // three batches of the backfill

/** The statements of a change by what they do, in the order of a change and the clean-up after it. */
const phases: readonly (readonly [string, RegExp])[] = [
  ['add a column', /add column/],
  ['create a trigger', /create (?:or replace )?trigger/],
  ['add a constraint', /not valid/],
  ['validate a constraint', /validate constraint/],
  ['fill a batch of records', /skip locked/],
  ['build an index', /create (?:unique )?index concurrently/],
  ['drop an index', /drop index concurrently/],
  ['drop a constraint', /drop constraint/],
  ['drop a trigger', /drop function/],
  ['drop a column', /drop column/],
];

/** Kills PostgreSQL once after each kind of statement: it is done, and the process that runs the change does not know. */
class CrashingSessions {
  /** Phases after which PostgreSQL was killed and is back. */
  readonly crashed: string[] = [];
  readonly #begun = new Set<string>();
  readonly #onCrashed: () => Promise<void>;

  constructor(onCrashed: () => Promise<void>) {
    this.#onCrashed = onCrashed;
  }

  dedicatedConnection(purpose: string): ReturnType<Database['dedicatedConnection']> {
    const connection = database.dedicatedConnection(purpose);
    const query = connection.query.bind(connection);
    return Object.assign(connection, {
      query: async (...[statement, values]: Parameters<typeof query>) => {
        const text = typeof statement === 'string' ? statement : statement.text;
        const phase = phases.find(([name, pattern]) => pattern.test(text) && !this.#begun.has(name))?.[0];
        if (phase === undefined) return query(statement, values);
        const [row] = (await query('select pg_backend_pid() as pid')) as { pid: number }[];
        const rows = await query(statement, values);
        await this.crash(phase, row?.pid);
        return rows;
      },
    });
  }

  /** Kills a process of the server. One that is killed has all others of the server end, and starts a recovery. */
  async crash(phase: string, pid: number | undefined): Promise<void> {
    this.#begun.add(phase);
    process.kill(pid ?? Number.NaN, 'SIGKILL');
    // Until the server has noticed, a query can still be answered.
    await eventually(async () => {
      await database.query('select 1');
      await this.#onCrashed();
    });
    this.crashed.push(phase);
  }
}

const number: FieldDefinition = { name: 'number', type: 'STRING', unique: true };
const quantity: FieldDefinition = { name: 'quantity', type: 'INTEGER', indexed: true };
const note: FieldDefinition = { name: 'note', type: 'STRING' };
const region: FieldDefinition = { name: 'region', type: 'STRING', required: true, default: 'north' };

/** Adds a required field, retypes, removes, loosens and tightens. */
const changed: Omit<CollectionDefinition, 'name'> = {
  fields: [{ ...number, unique: false }, { ...quantity, type: 'DOUBLE' }, region],
  uniqueSets: [['number', 'region']],
};

/** A collection in JSONB has no columns of its own, and no statement for them. */
const columnPhases = new Set(['add a column', 'drop a column']);
const phasesOf = (storageMode: StorageMode): string[] =>
  ['make the version current', ...phases.map(([name]) => name)]
    .filter((name) => storageMode === 'PHYSICAL_TABLE' || !columnPhases.has(name))
    .toSorted();

describe('a change of a definition', () => {
  it.each(storageModes)(
    'goes on after PostgreSQL was killed in each of its phases, in mode %s',
    async (storageMode) => {
      const name = `orders-${storageMode}`;
      const store = new CollectionStore({ database, bus });
      await store.create(tenant, [{ name, storageMode, fields: [number, quantity, note] }], 'key');
      const first = await currentModel(store, tenant, name);
      await insertRecord(database, first, { quantity: 1, note: 'preloaded' });
      await multiplyRecord(database, first, preloaded);

      // A worker that has the version before until the new one is current, and then that.
      let model: CollectionModel = first;
      const attempted = new Set<number>();
      const acknowledged = new Set<number>();
      const sessions = new CrashingSessions(async () => {
        const next = 100 + attempted.size;
        attempted.add(next);
        const record = { number: `n${next}`, quantity: next, ...(model !== first && { region: 'north' }) };
        await insertRecord(database, model, record);
        acknowledged.add(next);
      });
      const changes = new CollectionChanges({ database, bus, cleanupDelayMs: 1 });
      const makeCurrent = changes.makeCurrent.bind(changes);
      changes.makeCurrent = async (inProgress) => {
        const outcome = await makeCurrent(inProgress);
        model = await currentModel(store, tenant, name);
        await sessions.crash('make the version current', scratch.server.pid);
        return outcome;
      };
      const runner = new SchemaChangeRunner({
        ...quietIo,
        database,
        sessions,
        changes,
        observe: () => undefined,
        pollMs: 20,
      });
      await runner.start();
      try {
        const request = { tenantId: tenant, name, definition: { name, storageMode, ...changed }, actor: 'key' };
        // The runner may begin, and PostgreSQL be killed, before the answer of the request.
        await changes.request(request).catch(() => undefined);
        await eventually(async () => {
          expect((await currentModel(store, tenant, name)).version).toBe(first.version + 1);
        }, 120_000);
        await eventually(() => expect(sessions.crashed.toSorted()).toEqual(phasesOf(storageMode)), 120_000);
        // Other connections of the pool may still find out that the server was killed.
        const last = await eventually(() => currentModel(store, tenant, name));
        await eventually(async () => {
          const objects = await tableObjects(database, last);
          expect(objects.filter((object) => /invalid|constraint|trigger|note/.test(object))).toEqual([]);
        });
        const stored = (await eventually(() => readValues(database, last, 'quantity'))).map(Number);
        expect(stored.filter((each) => each === 1)).toHaveLength(preloaded + 1);
        expect([...acknowledged].filter((each) => !stored.includes(each))).toEqual([]);
        expect(stored.filter((each) => each !== 1 && !attempted.has(each))).toEqual([]);
        expect(acknowledged.size).toBeGreaterThanOrEqual(sessions.crashed.length);
        const regions = await eventually(() => readValues(database, last, 'region'));
        expect(new Set(regions)).toEqual(new Set(['north']));
      } finally {
        await runner.stop();
      }
    },
  );
});
