import { functionChanged, type TenantId } from '@drover/contracts';
import { databaseMigrations, type Database } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { eventBusMigrations, PostgresEventBus } from '@drover/event-bus';
import { Secret, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FunctionDefinition } from '@drover/dispatchers';
import { EnvCipher } from './env-cipher.js';
import { StoredFunctionCatalog } from './stored-function-catalog.js';
import { functionMigrations } from './function-migrations.js';
import { FunctionStore } from './function-store.js';
import { settleSpec } from './resolve-function.js';

const defaults = { timeoutMs: 30_000, queueSize: 100, concurrency: 4, maxRetries: 3 };
const never = new AbortController().signal;
const a = 'a' as TenantId;
const spec = (name: string) => settleSpec({ name, endpointUrl: 'http://pool.test/' }, defaults);

/** One replica of the control plane, as far as functions go. */
interface Replica {
  readonly database: Database;
  readonly store: FunctionStore;
  readonly catalog: StoredFunctionCatalog;
  readonly heard: { readonly name: string; readonly now: FunctionDefinition | undefined }[];
  stop(): Promise<void>;
}

let test: TestDatabase;
let here: Replica;
let there: Replica;

async function open(poolSize = 4): Promise<Replica> {
  const database = await test.connect({ poolSize });
  const bus = new PostgresEventBus({ database, ...quietIo, observe: () => undefined });
  await bus.start(never);
  const store = new FunctionStore(database, bus, new EnvCipher(new Secret('long enough for tests'), systemRandomness));
  const catalog = new StoredFunctionCatalog({ store, bus, clock: quietIo.clock, observe: () => undefined });
  const heard: Replica['heard'] = [];
  catalog.onChange((_, name, now) => heard.push({ name, now }));
  await catalog.start();
  return {
    database,
    store,
    catalog,
    heard,
    async stop() {
      await catalog.stop();
      await bus.stop();
    },
  };
}

beforeAll(async () => {
  test = await createTestDatabase([databaseMigrations, eventBusMigrations, functionMigrations]);
  here = await open();
  there = await open();
});
afterAll(async () => {
  await Promise.all([here?.stop(), there?.stop()]);
  await test.drop();
});

describe('two catalogs over one database', () => {
  it('find at once what was registered through the other one', async () => {
    for (let round = 0; round < 20; round += 1) {
      const name = `fresh${round}`;
      expect(await there.catalog.find(a, name)).toBeUndefined();
      const made = await here.store.register(a, spec(name));
      expect(await there.catalog.find(a, name)).toEqual(made);
    }
  });

  it('hear of each change of the other one, and answer with it from then on', async () => {
    await here.store.register(a, spec('f'));
    await there.catalog.find(a, 'f');
    await here.store.update(a, 'f', (stored) => ({ ...stored, timeoutMs: 5 }));
    await eventually(() => expect(there.catalog.peek(a, 'f')).toMatchObject({ timeoutMs: 5, revision: 2 }));
    await here.store.remove(a, 'f');
    await eventually(() => expect(there.heard.at(-1)).toEqual({ name: 'f', now: undefined }));
    expect(await there.catalog.find(a, 'f')).toBeUndefined();
    const again = await here.store.register(a, spec('f'));
    await eventually(() => expect(there.heard.at(-1)).toEqual({ name: 'f', now: again }));
  });

  it('agree in the end, and never go back, while both change the same function', async () => {
    await here.store.register(a, spec('busy'));
    const change = async ({ store, catalog }: Replica): Promise<void> => {
      for (let round = 0; round < 20; round += 1) {
        await store.update(a, 'busy', (stored) => ({ ...stored, concurrency: round + 1 }));
        await catalog.changed(a, 'busy');
      }
    };
    const read = async ({ catalog }: Replica): Promise<void> => {
      for (let last = 0, round = 0; round < 200; round += 1) {
        const { revision = 0 } = (await catalog.find(a, 'busy')) ?? {};
        expect(revision).toBeGreaterThanOrEqual(last);
        last = revision;
      }
    };
    await Promise.all([change(here), change(there), read(here), read(there)]);
    const final = await here.store.find(a, 'busy');
    expect(final?.revision).toBe(41);
    for (const { catalog, heard } of [here, there]) {
      await eventually(() => expect(catalog.peek(a, 'busy')).toEqual(final));
      const revisions = heard.filter(({ name }) => name === 'busy').map(({ now }) => now?.revision ?? 0);
      expect(revisions).toEqual(revisions.toSorted((one, other) => one - other));
      expect(revisions.at(-1)).toBe(41);
    }
  });

  it('let nobody wait for long while thousands of unknown names are asked for', async () => {
    let statements = 0;
    const { database } = here;
    const query = database.query.bind(database);
    database.query = (...args) => {
      statements += 1;
      return query(...args);
    };
    try {
      const flood = Array.from({ length: 5_000 }, (_, n) => here.catalog.find(a, `unknown${n}`));
      await here.store.find(a, 'busy'); // its turn comes although the pool has four connections only
      expect((await Promise.all(flood)).every((discovered) => discovered === undefined)).toBe(true);
    } finally {
      database.query = query;
    }
    expect(statements).toBeLessThan(20);
  });

  it('get over the loss of their connections', async () => {
    await there.catalog.find(a, 'busy');
    await test
      .connect()
      .then((other) =>
        other.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
        ),
      );
    const patched = await eventually(() => here.store.update(a, 'busy', (stored) => ({ ...stored, timeoutMs: 77 })));
    expect(patched?.timeoutMs).toBe(77);
    await eventually(() => expect(there.catalog.peek(a, 'busy')).toMatchObject({ timeoutMs: 77 }));
  });
});

describe('the events of functions', () => {
  it('say which function of whom, and nothing that is in it', async () => {
    await here.store.register(a, spec('told'), { TOKEN: 'value-that-nobody-sees' });
    const rows = await eventually(async () => {
      const discovered = await here.database.query<{ payload: unknown }>(
        `select payload from drover.events where topic = $1 and key = 'a/told'`,
        [functionChanged.name],
      );
      expect(discovered).toHaveLength(1);
      return discovered;
    });
    expect(rows[0]?.payload).toEqual({ tenantId: 'a', name: 'told', removed: false });
  });
});
