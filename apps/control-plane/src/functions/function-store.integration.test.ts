import { functionChanged, type FunctionSpec, type PublishedEvent, type TenantId } from '@drover/contracts';
import { databaseMigrations, type Database, type Statement, type Transaction } from '@drover/database';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import { eventBusMigrations, PostgresEventBus } from '@drover/event-bus';
import { Secret, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EnvCipher } from './env-cipher.js';
import { functionMigrations } from './function-migrations.js';
import { FunctionStore } from './function-store.js';
import { applyPatch, settleSpec } from './resolve-function.js';

const defaults = { timeoutMs: 30_000, queueSize: 100, concurrency: 4, maxRetries: 3 };
const key = new Secret('a key for tests, long enough');
const never = new AbortController().signal;
const tenant = (name: string) => name as TenantId; // the test is what makes it one
const [a, b] = [tenant('a'), tenant('b')];
const spec = (name: string, over: Partial<FunctionSpec> = {}) =>
  settleSpec({ name, endpointUrl: 'http://pool.test/', ...over }, defaults);

let test: TestDatabase;
let database: Database;
let bus: PostgresEventBus;
let store: FunctionStore;
const events: PublishedEvent[] = [];

beforeAll(async () => {
  test = await createTestDatabase([databaseMigrations, eventBusMigrations, functionMigrations]);
  database = await test.connect({ poolSize: 20 });
  bus = new PostgresEventBus({ database, ...quietIo, observe: () => undefined });
  await bus.start(never);
  await bus.subscribe({ topics: [functionChanged], from: 0, handle: (event) => void events.push(event) });
  store = storeWith(key);
});
afterAll(async () => {
  await bus?.stop();
  await test.drop();
});

function storeWith(secret: Secret | undefined): FunctionStore {
  return new FunctionStore(database, bus, new EnvCipher(secret, systemRandomness));
}

describe('registering', () => {
  it('keeps every field and gives back what a later reader finds', async () => {
    const full = spec('everything', {
      image: 'registry.test/käse:1 🧀',
      command: ['run', '--flag', ''],
      resources: { requests: { cpu: 0.001, memoryMiB: 1 }, limits: { cpu: 0.5, memoryMiB: 64 } },
      timeoutMs: 300_000,
      concurrency: 100_000,
      queueSize: 1_000_000,
      maxRetries: 0,
      retry: { handlerErrors: true, delayMs: 0, backOffFactor: 1.5, maxDelayMs: 5 },
      executionMode: 'EXTERNAL',
      handler: 'a/b.mjs',
      appFunction: 'shop/order',
      runtimeMode: 'STDIO',
      runtimeCommand: 'node index.js',
      imagePullSecrets: ['one'],
      scalingConfig: { strategy: 'HPA', minReplicas: 0, maxReplicas: 3, metrics: [{ type: 'rps', target: '5' }] },
      concurrencyControl: { mode: 'SOJOURN', weight: 0.1 },
      offload: { enabled: true, targetUrl: 'https://other.test', mode: 'always' },
    });
    const made = await store.register(a, full);
    expect(made).toMatchObject({
      tenantId: 'a',
      name: 'everything',
      revision: 1,
      mode: 'POOL',
      requestedMode: 'EXTERNAL',
    });
    expect(made.spec).toEqual(full);
    expect(await store.find(a, 'everything')).toEqual(made);
    expect(made.createdAt).toEqual(made.updatedAt);
  });

  it('lets one of fifty have the name, and says FUNCTION_EXISTS to the others', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) => store.register(a, spec('race', { concurrency: n + 1 }))),
    );
    const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(won).toHaveLength(1);
    expect(lost).toHaveLength(49);
    for (const error of lost) expect(error).toMatchObject({ code: 'FUNCTION_EXISTS', status: 409 });
    expect(await store.find(a, 'race')).toEqual(won[0]);
    await eventually(() => expect(events.filter(({ key }) => key === 'a/race')).toHaveLength(1));
  });

  it('gives each incarnation a higher number, also when many register and remove the same name at once', async () => {
    const seen: number[] = [];
    const churn = async (): Promise<void> => {
      for (let round = 0; round < 15; round += 1) {
        await store.register(a, spec('churn')).catch(() => undefined);
        const removed = await store.remove(a, 'churn');
        if (removed) seen.push(removed.generation);
      }
    };
    await Promise.all(Array.from({ length: 6 }, churn));
    await store.remove(a, 'churn');
    // The events are in the order of the commits, whatever order the answers came back in.
    const position = await bus.lastPosition();
    await eventually(() => expect(events.at(-1)?.position).toBeGreaterThanOrEqual(position));
    const told = events.filter((event) => event.key === 'a/churn');
    const generations = told.map(({ generation }) => generation);
    expect(generations).toEqual(generations.toSorted((one, other) => one - other));
    expect(told.map(({ payload }) => (payload as { removed: boolean }).removed)).toEqual(
      told.map((_, index) => index % 2 === 1), // registered, removed, registered …
    );
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('never puts an older number after a newer one, however long somebody takes between number and row', async () => {
    let goOn = (): void => undefined;
    const mayInsert = new Promise<void>((resolve) => (goOn = resolve));
    let hasNumber = false;
    const slowDatabase = Object.assign(Object.create(database) as Database, {
      transaction: <T>(work: (tx: Transaction) => Promise<T>) =>
        database.transaction((tx) =>
          work({
            ...tx,
            async query<R extends object>(statement: Statement | string, values?: readonly unknown[]) {
              const isInsert = typeof statement !== 'string' && statement.name === 'function-insert';
              if (isInsert) {
                hasNumber = true;
                await mayInsert;
              }
              return tx.query<R>(statement, values);
            },
          }),
        ),
    });
    const slow = new FunctionStore(slowDatabase, bus, new EnvCipher(key, systemRandomness)).register(a, spec('slow'));
    await eventually(() => hasNumber);
    let isQuickDone = false;
    const quick = (async () => {
      await store.register(a, spec('slow'));
      await store.remove(a, 'slow');
    })().finally(() => (isQuickDone = true));
    const isQuickWaiting = async (): Promise<boolean> => {
      const waiting = await database.query(
        `select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`,
      );
      return waiting.length > 0;
    };
    await eventually(async () => isQuickDone || (await isQuickWaiting()));
    goOn();
    await Promise.allSettled([slow, quick]);
    const last = await store.find(a, 'slow');
    const told = await database.query<{ generation: number }>(
      `select generation from drover.outbox where key = 'a/slow' union all select generation from drover.events where key = 'a/slow'`,
    );
    expect(last?.generation).toBe(Math.max(...told.map(({ generation }) => generation)));
  });

  it('leaves nothing behind when the event cannot be published', async () => {
    const broken = new FunctionStore(
      database,
      Object.assign(Object.create(bus), { publish: () => Promise.reject(new Error('no room')) }) as PostgresEventBus,
      new EnvCipher(key, systemRandomness),
    );
    await expect(broken.register(a, spec('half'))).rejects.toThrow('no room');
    expect(await store.find(a, 'half')).toBeUndefined();
  });
});

describe('changing', () => {
  it('keeps the generation, raises the revision, and leaves the rest as it is', async () => {
    const made = await store.register(a, spec('change', { image: 'i', maxRetries: 9 }));
    const patched = await store.update(a, 'change', (stored) => applyPatch(stored, { timeoutMs: 5 }));
    expect(patched).toMatchObject({ generation: made.generation, revision: 2, timeoutMs: 5, maxRetries: 9 });
    expect(patched?.spec).toEqual({ ...made.spec, timeoutMs: 5 });
    expect(patched?.updatedAt?.getTime()).toBeGreaterThan(made.updatedAt?.getTime() ?? Number.POSITIVE_INFINITY);
    expect(patched?.createdAt).toEqual(made.createdAt);
    expect(await store.find(a, 'change')).toEqual(patched);
  });

  it('keeps the changes of everybody who changed something else at the same time', async () => {
    await store.register(a, spec('together'));
    const patches = [
      { timeoutMs: 11 },
      { concurrency: 12 },
      { maxRetries: 13 },
      { retry: { delayMs: 14 } },
      { concurrencyControl: { mode: 'BUDGETED' as const, weight: 15 } },
    ];
    await Promise.all(
      Array.from({ length: 10 }, () =>
        patches.map((patch) => store.update(a, 'together', (stored) => applyPatch(stored, patch))),
      ).flat(),
    );
    expect(await store.find(a, 'together')).toMatchObject({
      revision: 51,
      timeoutMs: 11,
      concurrency: 12,
      maxRetries: 13,
      retry: { delayMs: 14, handlerErrors: false },
      spec: { concurrencyControl: { mode: 'BUDGETED', weight: 15 } },
    });
  });

  it('finds nothing to change or remove where there is nothing', async () => {
    expect(await store.update(a, 'nobody', (stored) => applyPatch(stored, { timeoutMs: 1 }))).toBeUndefined();
    expect(await store.remove(a, 'nobody')).toBeUndefined();
  });
});

describe('tenants', () => {
  it('see, change and remove only what is theirs', async () => {
    const mine = await store.register(a, spec('shared-name', { timeoutMs: 1 }));
    expect(await store.find(b, 'shared-name')).toBeUndefined();
    expect(await store.update(b, 'shared-name', (stored) => applyPatch(stored, { timeoutMs: 9 }))).toBeUndefined();
    expect(await store.remove(b, 'shared-name')).toBeUndefined();
    const theirs = await store.register(b, spec('shared-name', { timeoutMs: 2 }));
    expect(theirs.generation).toBeGreaterThan(mine.generation);
    await store.remove(b, 'shared-name');
    expect(await store.find(a, 'shared-name')).toEqual(mine);
    expect(await store.list(b)).toEqual([]);
  });

  it('are told apart when many are asked for at once', async () => {
    const [c, d] = [tenant('c'), tenant('d')];
    for (const [who, name] of [
      [c, 'x'],
      [c, 'y'],
      [d, 'x'],
    ] as const)
      await store.register(who, spec(name));
    const found = await store.findAll([
      { tenantId: c, name: 'y' },
      { tenantId: d, name: 'x' },
      { tenantId: d, name: 'y' },
      { tenantId: c, name: 'X' },
    ]);
    const functions = found.flatMap((one) => ('definition' in one ? [one] : []));
    expect(functions.map(({ definition }) => `${definition.tenantId}/${definition.name}`).toSorted()).toEqual([
      'c/y',
      'd/x',
    ]);
    expect(functions.every(({ bytes }) => bytes > 50 && bytes < 5_000)).toBe(true);
  });

  it('have lists in byte order', async () => {
    const e = tenant('e');
    for (const name of ['b', 'a.b', 'B', 'a-b', 'a_b', 'A', 'ab']) await store.register(e, spec(name));
    const names = (await store.list(e)).map(({ name }) => name);
    expect(names).toEqual(['A', 'B', 'a-b', 'a.b', 'a_b', 'ab', 'b']);
  });
});

describe('env', () => {
  const env = { TOKEN: 'value-that-nobody-sees', A: 'grüße 🧀' };

  it('is sealed in the row, opens for who has the key, and survives a change', async () => {
    const made = await store.register(a, spec('sealed'), env);
    await store.update(a, 'sealed', (stored) => applyPatch(stored, { timeoutMs: 5 }));
    for (const definition of [made, await storeWith(key).find(a, 'sealed')]) {
      expect(Object.keys(definition?.env ?? {})).toEqual(['A', 'TOKEN']);
      expect(definition?.env['TOKEN']?.reveal()).toBe(env.TOKEN);
      expect(definition?.env['A']?.reveal()).toBe(env.A);
    }
    const rows = await database.query<{ row: string; bytes: Buffer }>(
      `select f::text as row, env as bytes from drover.functions f where name = 'sealed'`,
    );
    const outbox = await database.query<{ row: string }>('select e::text as row from drover.events e');
    expect(rows).toHaveLength(1);
    for (const { row } of [...rows, ...outbox]) expect(row).not.toContain(env.TOKEN);
    expect(rows[0]?.bytes.includes(env.TOKEN)).toBe(false);
  });

  it('does not open in a row it was copied to', async () => {
    await store.register(a, spec('source'), env);
    await store.register(b, spec('source'), { TOKEN: 'other', A: 'other' });
    await database.query(
      `update drover.functions set env = (select env from drover.functions where tenant_id = 'a' and name = 'source')
       where tenant_id = 'b' and name = 'source'`,
    );
    const stolen = await store.find(b, 'source');
    expect(() => stolen?.env['TOKEN']?.reveal()).toThrow(/changed or belongs to another function/);
  });

  it('is refused without a key, and nothing is registered; a function without env is not', async () => {
    const keyless = storeWith(undefined);
    await expect(keyless.register(a, spec('keyless'), env)).rejects.toMatchObject({ code: 'FUNCTION_ENV_NEEDS_KEY' });
    expect(await keyless.find(a, 'keyless')).toBeUndefined();
    await expect(keyless.register(a, spec('keyless'), {})).resolves.toMatchObject({ name: 'keyless', env: {} });
  });

  it('with another key stops nobody from reading, changing and removing the function', async () => {
    await store.register(a, spec('moved'), env);
    const other = storeWith(new Secret('another key, long enough as well'));
    const found = await other.find(a, 'moved');
    expect(Object.keys(found?.env ?? {})).toEqual(['A', 'TOKEN']);
    expect(() => found?.env['TOKEN']?.reveal()).toThrow(/encrypted with another key/);
    expect((await other.list(a)).map(({ name }) => name)).toContain('moved');
    expect(await other.update(a, 'moved', (stored) => applyPatch(stored, { timeoutMs: 7 }))).toMatchObject({
      timeoutMs: 7,
    });
    expect(await other.remove(a, 'moved')).toMatchObject({ name: 'moved' });
  });
});
