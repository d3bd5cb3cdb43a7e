import { CollectionStore } from '@drover/collection-engine';
import type { CollectionRoute, NewEvent, WorkerHeartbeat, WorkerOrders } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../schema.js';
import { defaultAssignmentPolicy } from './assignment-facts.js';
import { runAssignmentPass } from './assignment-pass.js';
import { WorkerRegistry } from './worker-registry.js';

let test: TestDatabase;
let database: Database;
let registry: WorkerRegistry;
let published: NewEvent[] = [];
const bus = { publish: async (events: readonly NewEvent[]) => void published.push(...events) };

beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  database = await test.connect();
  registry = new WorkerRegistry({
    database,
    bus,
    heartbeatMs: 15_000,
    wake: () => undefined,
    observe: () => undefined,
  });
});
afterAll(() => test.drop());
beforeEach(async () => {
  published = [];
  await database.query('truncate drover.collection_workers, drover.collections, drover.collection_pools cascade');
  await database.query(`update drover.assignment_passes set watching_since = '-infinity', fingerprint = null`);
});

const define = (name: string) =>
  new CollectionStore({ database, bus }).create('acme', [{ name, fields: [{ name: 'a', type: 'STRING' }] }], 'key');
/** Returns what the pass has changed; undefined if it found the facts of the last one. */
const pass = async (staleMs = 45_000) => {
  const { changes } = await runAssignmentPass({
    database,
    bus,
    policy: defaultAssignmentPolicy,
    replicas: 2,
    staleMs,
    awayMs: 15_000,
    forgetMs: 3_600_000,
    poolOf: () => 'default',
  });
  return changes;
};
const join = (workerId: string) => registry.register({ workerId, baseUrl: `http://${workerId}:1` });
const idle = { cpu: 0, activeConnections: 0, requestRate: 0, latencyMs: 0, errorRate: 0, memoryBytes: 0 };

/** Sends a heartbeat in which all that was ordered has the state that the worker was told to reach. */
async function beat(workerId: string, orders: WorkerOrders, status: WorkerHeartbeat['status'] = 'READY') {
  const collections = orders.assignments.map(({ collectionId, generation, status: told }) => ({
    collectionId,
    generation,
    status: told === 'DRAINING' ? ('REMOVED' as const) : ('READY' as const),
    cpu: 1,
    requestRate: 0,
    errorRate: 0,
  }));
  const { incarnation } = orders;
  return registry.heartbeat(workerId, { incarnation, status, load: idle, collections });
}

const lastRoute = (): CollectionRoute | undefined =>
  published.findLast(({ topic }) => topic.name === 'drover.collection-routes')?.payload as CollectionRoute | undefined;
const endpoints = () =>
  lastRoute()
    ?.endpoints.map(({ workerId }) => workerId)
    .toSorted();

describe('assignments', () => {
  it('lead from a new worker to a route, and away from a worker that drains, without a gap', async () => {
    await define('orders');
    expect(await pass()).toMatchObject({ assigned: 0, unassigned: 1 });
    let one = await beat('one', await join('one'));
    await pass();
    one = await beat('one', one); // is told, and reports READY with the next one
    one = await beat('one', one);
    await pass();
    expect(endpoints()).toEqual(['one']);
    const first = lastRoute()?.generation ?? 0;

    let two = await beat('two', await join('two'));
    await pass();
    two = await beat('two', await beat('two', two));
    await pass();
    expect(endpoints()).toEqual(['one', 'two']);
    expect(lastRoute()?.generation).toBeGreaterThan(first);

    await registry.deregister('one');
    await pass();
    one = await beat('one', one, 'DRAINING');
    await pass();
    expect(endpoints()).toEqual(['two']);
    one = await beat('one', one, 'DRAINING');
    one = await beat('one', one, 'DRAINING');
    expect(one.assignments).toEqual([]);
  });

  it('of a worker without heartbeats go to another one', async () => {
    await define('orders');
    const one = await beat('one', await join('one'));
    await pass();
    await beat('one', await beat('one', one));
    await pass();
    await database.query(
      `update drover.collection_workers set last_heartbeat = now() - interval '1 minute' where id = 'one'`,
    );
    await beat('two', await join('two'));
    expect(await pass()).toMatchObject({ offline: ['one'], assigned: 1, removed: 1 });
    expect(endpoints()).toEqual([]);
  });

  it('that no worker has room for are counted by pool, until one has', async () => {
    await Promise.all(['orders', 'invoices'].map(define));
    const lacking = () => database.query('select pool, unassigned, missing from drover.collection_pools');
    await pass();
    expect(await lacking()).toEqual([{ pool: 'default', unassigned: 2, missing: 2 }]);
    const small = await registry.register({ workerId: 'small', baseUrl: 'http://small:1', capacity: 1 });
    await beat('small', small);
    await pass();
    expect(await lacking()).toEqual([{ pool: 'default', unassigned: 1, missing: 1 }]);
    expect(published.at(-1)).toMatchObject({ key: 'default', payload: { pool: 'default', unassigned: 1 } });
    await beat('large', await join('large'));
    await pass();
    expect(await lacking()).toEqual([{ pool: 'default', unassigned: 1, missing: 1 }]); // the second replica of one of them
    await beat('third', await join('third'));
    await pass();
    expect(await lacking()).toEqual([]);
  });

  it('are prepared again by a worker that was started again; its former process is refused', async () => {
    await define('orders');
    const old = await beat('one', await join('one'));
    await pass();
    const told = await beat('one', old);
    await beat('one', told);
    await pass();
    expect(endpoints()).toEqual(['one']);
    const again = await join('one');
    expect(again.assignments).toMatchObject([{ status: 'PENDING' }]);
    await expect(beat('one', told)).rejects.toMatchObject({ code: 'WORKER_REGISTERED_AGAIN' });
    await pass();
    expect(endpoints()).toEqual([]);
    await expect(beat('unknown', old)).rejects.toMatchObject({ code: 'WORKER_UNKNOWN' });
  });

  it('do not change by a report about an earlier assignment', async () => {
    await define('orders');
    const one = await beat('one', await join('one'));
    await pass();
    const told = await beat('one', one);
    const late = {
      ...told,
      assignments: told.assignments.map((each) => ({ ...each, generation: each.generation - 1 })),
    };
    expect((await beat('one', late)).assignments).toMatchObject([{ status: 'PENDING' }]);
    expect((await beat('one', told)).assignments).toMatchObject([{ status: 'READY' }]);
  });

  it('publish nothing when nothing changes', async () => {
    await define('orders');
    const one = await beat('one', await join('one'));
    await pass();
    await beat('one', await beat('one', one));
    await pass();
    published = [];
    expect(await pass()).toMatchObject({ assigned: 0, drained: 0, removed: 0, routes: 0 });
    expect(await pass()).toBeUndefined();
    expect(published).toEqual([]);
    await define('invoices');
    expect(await pass()).toMatchObject({ assigned: 1 });
  });
});
