import { FailedChanges, RecordEventTail } from '@drover/collection-engine';
import { createTestDatabase, quietIo, type TestDatabase } from '@drover/database/testing';
import type { Database } from '@drover/database';
import { collectionTestSchema, createCollectionTables, testCollection } from '@drover/collection-engine/testing';
import type { Clock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import {
  collectionExtension,
  LockedMessages,
  SourceWakeups,
  TriggerStores,
  TriggerWatch,
  type Deliver,
  type NoticedWork,
  type TriggerListener,
} from '@drover/trigger-sources';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RuntimeRecords } from './runtime-records.js';

const never = new AbortController().signal;
const io = { ...quietIo, observe: () => undefined };
const orders = testCollection({
  name: 'orders',
  fields: [
    { name: 'number', type: 'STRING' },
    { name: 'card', type: 'ENCRYPTED' },
  ],
});

let test: TestDatabase;
const databaseUrl = () => Promise.resolve(test.url);
let database: Database;
let records: RuntimeRecords;
let stores: TriggerStores;
beforeAll(async () => {
  test = await createTestDatabase(collectionTestSchema);
  database = await test.connect();
  await createCollectionTables(database, orders);
  records = new RuntimeRecords({ ...io, databaseUrl });
  stores = new TriggerStores({ ...io, databaseUrl, release: 'test' });
});
afterAll(async () => {
  await records.stop();
  await stores.stop();
  await test.drop();
});

/** Writes changes as an operation does. */
async function write(recordId: string, numbers: readonly string[]): Promise<void> {
  await database.query(
    `insert into drover.record_events (tenant_id, collection_id, record_id, version, kind, before, after, actor)
     select 'acme', $1, $2, n, 'updated', null, jsonb_build_object('number', number, 'card', 'secret'), 'key'
     from unnest($3::text[]) with ordinality as given (number, n) order by n`,
    [orders.id, recordId, numbers],
  );
}

const [first, second] = ['0190a000-0000-7000-8000-000000000001', '0190a000-0000-7000-8000-000000000002'];

/** The trigger of a function of an application of the tenant acme. */
function listen(binding: Record<string, unknown>, deliver: Deliver, functionName = 'bill'): TriggerListener {
  const extension = extensionOf();
  const options = { collection: 'orders', ...binding };
  const prepared = extension.prepare?.({ functionName, type: 'collectionTrigger', options });
  if (!prepared) throw new Error('the extension has a trigger');
  return prepared.listen(deliver);
}

function extensionOf(from: RuntimeRecords = records) {
  return collectionExtension.create({
    ...io,
    application: 'acme/shop',
    settings: {},
    host: { singleton: { listenerLockPeriodMs: 15_000 } },
    cores: 1,
    wakeups: new SourceWakeups(),
    lockedMessages: new LockedMessages(),
    store: stores.of({}),
    records: from.of('acme'),
  });
}

interface Change {
  readonly position: string;
  readonly id: string;
  readonly after: { readonly number: string };
}

/** The bindings of a function. */
function bindings() {
  const extension = extensionOf();
  const request = (options: object) => ({ functionName: 'bill', type: 'collection', options: { ...options } });
  const write = async (options: object, values: readonly unknown[]): Promise<void> =>
    extension.target?.(request(options)).send(
      values.map((value) => ({ body: JSON.stringify(value) })),
      never,
    );
  const read = async (options: object): Promise<unknown> => {
    const value = await extension.read?.(request(options), never);
    return value && 'json' in value ? (JSON.parse(value.json) as unknown) : value;
  };
  return { read, write };
}

describe('collection bindings', () => {
  const customers = testCollection({
    name: 'customers',
    fields: [
      { name: 'code', type: 'EXTERNAL_ID', required: true },
      { name: 'country', type: 'STRING' },
      { name: 'password', type: 'ENCRYPTED' },
    ],
  });
  beforeAll(() => createCollectionTables(database, customers));

  it('create, upsert, update and delete records, and read one or a list', async () => {
    const { read, write } = bindings();
    await write({ collection: 'customers' }, [
      { code: 'a', country: 'FR' },
      { code: 'b', country: 'DE' },
    ]);
    await write({ collection: 'customers', operation: 'upsert', key: 'code' }, [{ code: 'b', country: 'IT' }]);
    const found = (await read({ collection: 'customers', query: 'sort=-code' })) as { id: string; code: string }[];
    expect(found).toMatchObject([
      { code: 'b', country: 'IT', version: 2 },
      { code: 'a', country: 'FR', createdBy: 'function bill' },
    ]);
    const [b, a] = found.map(({ id }) => id);
    await write({ collection: 'customers', operation: 'update' }, [{ id: a, country: 'ES' }]);
    await write({ collection: 'customers', operation: 'delete' }, [{ id: b }]);
    expect(await read({ collection: 'customers', id: a })).toMatchObject({ code: 'a', country: 'ES' });
    expect(await read({ collection: 'customers', id: b })).toBeUndefined();
  });

  it('and triggers reach a collection by its former name', async () => {
    const shops = testCollection({ name: 'shops', fields: [{ name: 'code', type: 'EXTERNAL_ID' }] });
    await createCollectionTables(database, shops);
    const { read, write } = bindings();
    const seen: unknown[] = [];
    const listener = listen({ collection: 'shops', startFrom: 'beginning' }, async ({ data }) => {
      seen.push((JSON.parse(data as string) as { kind: string }).kind);
      return { kind: 'complete' };
    });
    await listener.start(never);
    await write({ collection: 'shops' }, [{ code: 'before' }]);
    await eventually(() => expect(seen).toEqual(['created']));
    // As a change of the definition does it.
    await database.query(`update drover.collections set name = 'stores', version = 2 where id = $1`, [shops.id]);
    await database.query(
      `insert into drover.collection_versions (collection_id, version, definition, table_name, columns, created_by)
       select collection_id, 2, definition || '{"name":"stores"}', table_name, columns, 'test'
       from drover.collection_versions where collection_id = $1`,
      [shops.id],
    );
    await eventually(async () => {
      await write({ collection: 'stores', operation: 'upsert', key: 'code' }, [{ code: 'after' }]);
    });
    const found = async (collection: string) => (await read({ collection, query: 'sort=code' })) as { id: string }[];
    const [after] = await eventually(() => found('shops'));
    expect(await found('stores')).toHaveLength(2);
    await write({ collection: 'shops', operation: 'delete' }, [{ id: after?.id }]);
    await eventually(() => expect(seen.at(-1)).toBe('deleted'));
    await listener.stop();
  });

  it('write all records or none, and say which is wrong', async () => {
    const { read, write } = bindings();
    const wrong = [{ code: 'x' }, { code: 'y', county: 'FR' }];
    await expect(write({ collection: 'customers' }, wrong)).rejects.toThrow('county');
    expect(await read({ collection: 'customers', query: 'filter[code][in]=x,y' })).toEqual([]);
    await expect(write({ collection: 'customers' }, ['text'])).rejects.toMatchObject({ code: 'RECORD_OUTPUT_INVALID' });
    await expect(write({ collection: 'nothing' }, [{}])).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
  });

  it('wake the trigger of another function', async () => {
    const seen: unknown[] = [];
    const listener = listen(
      { collection: 'customers', startFrom: 'beginning', events: 'deleted' },
      async ({ data }) => {
        seen.push(JSON.parse(data as string));
        return { kind: 'complete' };
      },
      'deleted',
    );
    await listener.start(never);
    await eventually(() => expect(seen).toMatchObject([{ kind: 'deleted', before: { code: 'b' }, after: null }]));
    await listener.stop();
  });
});

describe('a collectionTrigger on PostgreSQL', () => {
  it('delivers the changes from its start on, in order per record, and without encrypted fields', async () => {
    await write(first, ['before']);
    const seen: string[] = [];
    const listener = listen({}, async ({ data }) => {
      seen.push(data as string);
      return { kind: 'complete' };
    });
    await listener.start(never);
    await eventually(
      async () => (await stores.of({}).list('collections/', never))[0]?.value.includes('position') === true,
    );
    await write(first, ['1', '2', '3']);
    await write(second, ['4']);
    await eventually(() => expect(seen).toHaveLength(4));
    const changes = seen.map((text) => JSON.parse(text) as Change);
    expect(changes.filter(({ id }) => id === first).map(({ after }) => after.number)).toEqual(['1', '2', '3']);
    expect(changes[0]).toMatchObject({ kind: 'updated', collection: 'orders', version: 1, actor: 'key', before: null });
    expect(seen.join('')).not.toContain('card');
    await listener.stop();
  });

  it('continues after its checkpoint, and measures what waits', async () => {
    const seen: string[] = [];
    const run = async (): Promise<TriggerListener> => {
      const listener = listen(
        { startFrom: 'beginning' },
        async ({ data }) => {
          seen.push((JSON.parse(data as string) as Change).after.number);
          return { kind: 'complete' };
        },
        'audit',
      );
      await listener.start(never);
      return listener;
    };
    const one = await run();
    await eventually(() => expect(seen).toHaveLength(5));
    await one.drain(never);
    await one.stop();
    await write(second, ['5', '6']);
    const idle = listen({ startFrom: 'beginning' }, () => Promise.reject(new Error('not started')), 'audit');
    expect(await idle.measure(never)).toMatchObject({ waiting: 2, targetPerWorker: 16 });
    const two = await run();
    await eventually(() => expect(seen.slice(5)).toEqual(['5', '6']));
    await two.stop();
  });

  it('notices a change at zero by the notification of the process that wrote it', async () => {
    // Waits longer than the delay of a notification never end: no poll can find the change.
    const clock: Clock = {
      ...io.clock,
      after: (ms, action) => (ms <= 20 ? io.clock.after(ms, action) : () => undefined),
    };
    const told = new RuntimeRecords({ ...io, clock, databaseUrl });
    const watch = new TriggerWatch({ ...io, clock, wakeups: new SourceWakeups() });
    const writer = new RecordEventTail({ ...io, database });
    await writer.start();
    try {
      const options = { collection: 'orders' };
      const prepared = extensionOf(told).prepare?.({ functionName: 'parked', type: 'collectionTrigger', options });
      if (!prepared) throw new Error('the extension has a trigger');
      const noticed: NoticedWork[] = [];
      const triggers = [{ functionName: 'parked', parked: prepared.park() }];
      watch.watch({ application: 'acme/shop', triggers }, (work) => void noticed.push(work));
      const checkpoint = async () => (await stores.of({}).list('collections/', never)).map(({ key }) => key);
      await eventually(async () => expect(await checkpoint()).toContainEqual(expect.stringContaining('/parked/')));
      await write(first, ['awaited']);
      writer.wrote();
      await eventually(() => expect(noticed).toMatchObject([{ functionName: 'parked' }]));
    } finally {
      await watch.close();
      await told.stop();
      await writer.stop();
    }
  });

  it('stores the changes that it gives up, and runs for them again when asked', async () => {
    const failedChanges = new FailedChanges(database);
    const list = () => failedChanges.list('acme', { functionName: 'FAILING' }, { before: 1e9, limit: 9 });
    const seen: string[] = [];
    let isMended = false;
    const listener = listen(
      { maxDeliveryCount: 1 },
      async ({ data }) => {
        const { after } = JSON.parse(data as string) as Change;
        seen.push(after.number);
        return isMended ? { kind: 'complete' } : { kind: 'abandon', byFunction: true, reason: 'no such printer' };
      },
      'failing',
    );
    await listener.start(never);
    await eventually(async () =>
      expect((await stores.of({}).list('collections/acme/shop/failing', never))[0]?.value).toContain('position'),
    );
    await write(first, ['7', '8']);
    await eventually(async () => expect(await list()).toHaveLength(2));
    const [latest] = await list();
    expect(latest).toMatchObject({
      application: 'shop',
      functionName: 'failing',
      collection: 'orders',
      recordId: first,
      reason: 'no such printer',
      deliveries: 1,
      isReplaying: false,
    });
    expect(latest?.json).not.toContain('card');
    expect(await failedChanges.replay('other', {})).toBe(0);
    expect(await failedChanges.replay('acme', { ids: [latest?.id ?? ''] })).toBe(1);
    await eventually(async () => expect(await list()).toMatchObject([{ deliveries: 2, isReplaying: false }, {}]));
    isMended = true;
    expect(await failedChanges.replay('acme', { application: 'shop', functionName: 'failing' })).toBe(2);
    await eventually(async () => expect(await list()).toEqual([]));
    expect(seen).toEqual(['7', '8', '8', '7', '8']);
    await listener.stop();
  });

  it('says that a collection is unknown, and continues when it is defined', async () => {
    const seen: unknown[] = [];
    const listener = listen(
      { collection: 'invoices', startFrom: 'beginning' },
      async ({ data }) => {
        seen.push(data);
        return { kind: 'complete' };
      },
      'late',
    );
    await expect(listener.measure(never)).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
    await listener.start(never);
    const invoices = testCollection({ name: 'invoices', fields: [] });
    await createCollectionTables(database, invoices);
    await database.query(
      `insert into drover.record_events (tenant_id, collection_id, record_id, version, kind, actor)
       values ('acme', $1, gen_random_uuid(), 1, 'created', 'key')`,
      [invoices.id],
    );
    await eventually(() => expect(seen).toHaveLength(1));
    await listener.stop();
  });
});
