import { CollectionStore } from '@drover/collection-engine';
import {
  assignmentChanged,
  workerStatusChanged,
  type CollectionRoute,
  type NewEvent,
  type CollectionWorkerHeartbeat,
  type WorkerOrders,
} from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../schema.js';
import { defaultAssignmentPolicy } from './assignment-facts.js';
import { runAssignmentPass } from './assignment-pass.js';
import { ManualAssignments } from './manual-assignments.js';
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
    silentMs: 3_000,
    awayMs: 15_000,
    forgetMs: 3_600_000,
    pools: new Map(),
  });
  return changes;
};
const join = (workerId: string) => registry.register({ workerId, baseUrl: `http://${workerId}:1` });
const idle = { cpu: 0, activeConnections: 0, requestRate: 0, latencyMs: 0, errorRate: 0, memoryBytes: 0 };

/** Sends a heartbeat in which all that was ordered has the state that the worker was told to reach. */
async function beat(workerId: string, orders: WorkerOrders, status: CollectionWorkerHeartbeat['status'] = 'READY') {
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

    await expect(registry.deregister('one', one.incarnation - 1)).rejects.toMatchObject({
      code: 'WORKER_REGISTERED_AGAIN',
    });
    await registry.deregister('one', one.incarnation);
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

  it('of a worker that died without a word do not wait until it is missed', async () => {
    for (const workerId of ['dead-1', 'dead-2', 'alive']) await beat(workerId, await join(workerId));
    await database.query(`update drover.collection_workers set status = 'OFFLINE' where id = 'alive'`);
    await define('orders');
    await pass();
    expect(await rows()).toEqual(['dead-1 PENDING', 'dead-2 PENDING']);
    await beat('alive', await join('alive'));
    expect(await pass()).toMatchObject({ assigned: 0 });
    await pass();
    expect(await pass()).toBeUndefined();
    const later = (seconds: number) =>
      database.query(
        `with a as (update drover.collection_assignments set assigned_at = assigned_at - $1 * interval '1 s')
         update drover.collection_workers set last_heartbeat = last_heartbeat - $1 * interval '1 s'`,
        [seconds],
      );
    await later(4);
    expect(await pass()).toMatchObject({ assigned: 1, offline: [] });
    expect(await rows()).toEqual(['alive PENDING', 'dead-1 PENDING', 'dead-2 PENDING']);
    await beat('alive', await join('alive'));
    await pass();
    expect(endpoints()).toEqual(['alive']);
  });

  it('that a worker cannot prepare are tried on another one, and the reason is remembered', async () => {
    for (const workerId of ['one', 'two']) await beat(workerId, await join(workerId));
    await define('orders');
    await pass();
    for (const workerId of ['one', 'two']) {
      const { incarnation, assignments } = await beat(workerId, { ...(await join(workerId)), assignments: [] });
      const collections = assignments.map(({ collectionId, generation }) => ({
        collectionId,
        generation,
        status: 'INITIALIZING' as const,
        problem: 'no table',
        cpu: 0,
        requestRate: 0,
        errorRate: 0,
      }));
      await registry.heartbeat(workerId, { incarnation, status: 'READY', load: idle, collections });
    }
    const three = await beat('three', await join('three'));
    expect(await pass()).toMatchObject({ assigned: 0, failed: [] });
    await pass();
    expect(await pass()).toBeUndefined();
    await database.query(`update drover.collection_assignments set failed_at = now() - interval '4 s'`);
    const lost = { collection: 'orders', problem: 'no table' };
    expect(await pass()).toMatchObject({ assigned: 1, drained: 1, failed: [lost] });
    await beat('three', await beat('three', three));
    await pass();
    expect(endpoints()).toEqual(['three']);
    const failures = await database.query(
      `select worker_id from drover.collection_assignments where failed_at is not null and problem = 'no table'`,
    );
    expect(failures).toHaveLength(2);
  });

  it('stay when a process registers again with its token; a worker that is told to leave stays so', async () => {
    await define('orders');
    const process = (processToken: string) =>
      registry.register({ workerId: 'one', baseUrl: 'http://one:1', processToken });
    const one = await beat('one', await process('process-1'));
    await pass();
    await beat('one', await beat('one', one));
    await registry.deregister('one', one.incarnation);
    published = [];
    const late = await process('process-1');
    expect(late).toMatchObject({ incarnation: one.incarnation, assignments: [{ status: 'READY' }] });
    expect(await database.query('select status, is_draining from drover.collection_workers')).toEqual([
      { status: 'DRAINING', is_draining: true },
    ]);
    expect(published).toEqual([]);
    const next = await process('process-2');
    expect(next).toMatchObject({ incarnation: one.incarnation + 1, assignments: [{ status: 'PENDING' }] });
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

  it('of workers whose heartbeats could not come, because no control plane was there, stay', async () => {
    await define('orders');
    const one = await beat('one', await join('one'));
    await pass();
    await beat('one', await beat('one', one));
    await pass();
    await database.query(
      `update drover.collection_workers set last_heartbeat = now() - interval '1 minute';
       update drover.assignment_passes set checked_at = now() - interval '50 seconds'`,
    );
    expect((await pass())?.offline ?? []).toEqual([]);
    await database.query(`update drover.assignment_passes set watching_since = now() - interval '46 seconds'`);
    expect(await pass()).toMatchObject({ offline: ['one'], removed: 0 });
    // It may be alive, and no other worker is: it stays the endpoint, and goes on when a heartbeat comes.
    expect(endpoints()).toEqual(['one']);
    expect((await beat('one', one)).assignments).toMatchObject([{ status: 'READY' }]);
  });

  it('made by hand stay, and those ended by hand move', async () => {
    await define('orders');
    const manual = new ManualAssignments({ database, bus, pools: new Map(), wake: () => undefined });
    const to = (workerId: string) => ({ collection: 'orders', workerId });
    await expect(manual.assign('acme', to('one'))).rejects.toMatchObject({ code: 'WORKER_UNKNOWN' });
    await join('one');
    await expect(manual.assign('acme', to('one'))).rejects.toMatchObject({ code: 'WORKER_UNAVAILABLE' });
    await registry.register({ workerId: 'red', baseUrl: 'http://red:1', pool: 'red' });
    await registry.register({ workerId: 'full', baseUrl: 'http://full:1', capacity: 1 });
    await database.query(`update drover.collection_workers set status = 'READY'`);
    await expect(manual.assign('acme', to('red'))).rejects.toMatchObject({ code: 'WORKER_RESERVED' });
    await expect(manual.assign('globex', to('one'))).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
    await expect(manual.unassign('acme', to('one'))).rejects.toMatchObject({ code: 'ASSIGNMENT_UNKNOWN' });
    await manual.assign('acme', to('full'));
    await manual.assign('acme', to('full'));
    expect(await rows()).toEqual(['full PENDING manual']);
    await pass();
    expect(await rows()).toEqual(['full PENDING manual', 'one PENDING']);
    await define('items');
    const items = { collection: 'items', workerId: 'full' };
    await expect(manual.assign('acme', items)).rejects.toMatchObject({ code: 'WORKER_FULL' });
    await manual.unassign('acme', to('full'));
    await pass();
    expect(await rows()).toEqual(['full PENDING', 'one PENDING']); // until the other one serves
    await database.query(`update drover.collection_assignments set status = 'READY' where worker_id = 'one'`);
    await pass();
    expect(await rows()).toEqual(['full DRAINING', 'one READY']);
  });

  it('of a collection that is deleted during a pass are left out of it', async () => {
    await define('orders');
    await define('items');
    await beat('one', await join('one'));
    let passed: ReturnType<typeof pass> | undefined;
    await database.transaction(async (tx) => {
      await tx.query(`delete from drover.collections where name = 'orders'`);
      passed = pass();
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await eventually(async () => expect(await database.query(waiting)).toHaveLength(1));
    });
    await expect(passed).resolves.toMatchObject({ assigned: 2 });
    const names = await database.query(
      'select name from drover.collection_assignments join drover.collections c on c.id = collection_id',
    );
    expect(names).toEqual([{ name: 'items' }]);
  });

  it('are decided once by two control planes, and a worker has the state of its last word', async () => {
    await define('orders');
    const one = await beat('one', await join('one'));
    const two = await beat('two', await join('two'));
    const results = await Promise.all([pass(), pass(), pass()]);
    expect(results.map((changes) => changes?.assigned)).toEqual(expect.arrayContaining([2, 0]));
    expect(published.filter(({ topic }) => topic === assignmentChanged)).toHaveLength(2);
    await Promise.all([beat('one', one), beat('two', two), pass(), beat('one', one), beat('two', two), pass()]);
    expect(await rows()).toEqual(['one PENDING', 'two PENDING']); // neither has said that it is ready
    await beat('one', one, 'STARTING'); // sent before the others, and late
    const statuses = published.filter(({ key, topic }) => topic === workerStatusChanged && key === 'one');
    expect(statuses.map(({ payload }) => (payload as { status: string }).status)).toEqual(['STARTING', 'READY']);
    const generations = statuses.map(({ generation }) => generation);
    expect(generations).toEqual(generations.toSorted((a, b) => a - b));
  });
});

/** Assignments of the collection orders, by worker. */
async function rows(): Promise<string[]> {
  const found = await database.query<{ worker_id: string; status: string; manual: boolean }>(
    `select worker_id, a.status, manual from drover.collection_assignments a
     join drover.collections c on c.id = collection_id where c.name = 'orders' order by worker_id`,
  );
  return found.map(({ worker_id: id, status, manual }) => [id, status, ...(manual ? ['manual'] : [])].join(' '));
}
