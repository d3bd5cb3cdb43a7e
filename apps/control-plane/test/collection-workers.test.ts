import {
  collectionRoutes,
  collectionWorkerRoutes,
  createClient,
  type CollectionRoute,
  type CollectionWorkerHeartbeat,
  type WorkerOrders,
} from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';
import { storeKey } from './support/stored-keys.js';

let test: TestDatabase;
let database: Database;
let plane: RunningControlPlane;
let other: RunningControlPlane;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  database = await test.connect();
  plane = await startControlPlane(test.url);
  other = await startControlPlane(test.url, {}, plane.adminKey);
});
afterAll(async () => {
  await Promise.all([plane?.stop(), other?.stop()]);
  await test.drop();
});

const idle = { cpu: 0, activeConnections: 0, requestRate: 0, latencyMs: 0, errorRate: 0, memoryBytes: 0 };

/** A worker that reports what it was told, whenever it is asked to. */
class ScriptedWorker {
  readonly #client;
  readonly #workerId: string;
  orders: WorkerOrders = { incarnation: 0, heartbeatMs: 0, assignments: [] };

  constructor(workerId: string, apiKey: string, url = plane.url) {
    this.#workerId = workerId;
    this.#client = createClient(collectionWorkerRoutes, { url, apiKey });
  }

  async register(capacity = 50): Promise<void> {
    const baseUrl = `http://${this.#workerId}.test:8080`;
    this.orders = await this.#client.registerWorker({ body: { workerId: this.#workerId, baseUrl, capacity } });
  }

  async beat(status: CollectionWorkerHeartbeat['status'] = 'READY'): Promise<void> {
    const { incarnation, assignments } = this.orders;
    const collections = assignments.map(({ collectionId, generation, status: told }) => ({
      collectionId,
      generation,
      status: told === 'DRAINING' ? ('REMOVED' as const) : ('READY' as const),
      cpu: 0,
      requestRate: 0,
      errorRate: 0,
    }));
    const body = { incarnation, status, load: idle, collections };
    this.orders = await this.#client.sendHeartbeat({ params: { workerId: this.#workerId }, body });
  }

  deregister(): Promise<WorkerOrders> {
    return this.#client.deregisterWorker({ params: { workerId: this.#workerId }, query: {} });
  }

  /** Names of the collections that it is to serve. */
  get names(): string[] {
    const serves = this.orders.assignments.filter(({ status }) => status !== 'DRAINING');
    return serves.map(({ collection }) => collection).toSorted();
  }
}

const joinKey = () => storeKey(database, { tenantId: 'platform', scopes: ['workers:join'] });
const admin = () =>
  createClient({ ...collectionRoutes, ...collectionWorkerRoutes }, { url: plane.url, apiKey: plane.adminKey });
const define = (name: string) => admin().createCollection({ body: { name, fields: [{ name: 'a', type: 'STRING' }] } });

/** Workers that serve a collection now, as gateways know them. */
async function endpointsOf(collection: string): Promise<string[]> {
  const rows = await database.query<{ endpoints: CollectionRoute['endpoints'] }>(
    'select endpoints from drover.collection_routes join drover.collections c on c.id = collection_id where c.name = $1',
    [collection],
  );
  return rows.flatMap(({ endpoints }) => endpoints.map(({ workerId }) => workerId)).toSorted();
}

describe('collection workers', () => {
  it('are given new collections at once, serve them when they say so, and hand them over when they leave', async () => {
    const key = await joinKey();
    const [one, two] = [new ScriptedWorker('one', key), new ScriptedWorker('two', key)];
    await one.register();
    await define('orders');
    await eventually(async () => expect(await admin().getUnassignedCollections()).toMatchObject({ count: 1 }));
    await one.beat();
    await two.register();
    await two.beat();
    await eventually(async () => {
      await one.beat();
      expect(one.names).toEqual(['orders']);
      await two.beat();
      expect(two.names).toEqual(['orders']);
      expect(await endpointsOf('orders')).toEqual(['one', 'two']);
    });
    expect(await admin().getUnassignedCollections()).toEqual({ count: 0, pools: {} });
    expect((await admin().listWorkers()).workers).toMatchObject([
      { id: 'one', status: 'READY', baseUrl: 'http://one.test:8080', pool: 'default', capacity: 50, currentLoad: 1 },
      { id: 'two', status: 'READY', currentLoad: 1 },
    ]);
    const { assignments } = await admin().listWorkerAssignments({ params: { workerId: 'one' } });
    expect(assignments).toMatchObject([{ collection: 'orders', status: 'READY', manual: false }]);

    await one.deregister();
    await eventually(async () => {
      await one.beat('DRAINING');
      expect(one.orders.assignments).toEqual([]);
    });
    expect(await endpointsOf('orders')).toEqual(['two']);
    expect(await admin().getWorker({ params: { workerId: 'one' } })).toMatchObject({ status: 'DRAINING' });
  });

  it('get their collections from any replica of the control plane, also after PostgreSQL broke all connections', async () => {
    const worker = new ScriptedWorker('three', await joinKey(), other.url);
    await worker.register();
    await database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'drover control-plane'`,
    );
    await eventually(() => define('invoices'));
    await eventually(async () => {
      await worker.beat();
      expect(worker.names).toContain('invoices');
      expect(await endpointsOf('invoices')).toContain('three');
    });
    await eventually(async () => {
      const { text } = await other.request('/metrics', { key: plane.adminKey });
      expect(text).toMatch(/^drover_collection_workers\{.*status="READY".*\} 2$/m);
    });
  });

  it('are told why a collection cannot be placed by hand, and take it where it can', async () => {
    const key = plane.adminKey;
    const place = (action: string, json: unknown) =>
      plane.request(`/control/assignments/${action}`, { method: 'POST', key, json });
    const invoices = { collection: 'invoices', workerId: 'three' };
    expect(await place('assign', { ...invoices, workerId: 'one' })).toBeRefusedWith(409, 'WORKER_UNAVAILABLE');
    expect(await place('assign', { ...invoices, collection: 'none' })).toBeRefusedWith(404, 'COLLECTION_UNKNOWN');
    expect(await place('assign', invoices)).toMatchObject({ status: 202, body: { ...invoices, manual: true } });
    const { assignments } = await admin().listAssignments({ query: { collection: 'invoices', status: 'READY' } });
    expect(assignments.find(({ workerId }) => workerId === 'three')).toMatchObject({ manual: true });
    expect((await place('unassign', invoices)).status).toBe(202);
    expect(await place('unassign', { ...invoices, workerId: 'one' })).toBeRefusedWith(404, 'ASSIGNMENT_UNKNOWN');
  });

  it('join with a key of scope workers:join, and no other key', async () => {
    const key = await storeKey(database, { tenantId: 'acme', scopes: ['control:read', 'control:write'] });
    const json = { workerId: 'stranger', baseUrl: 'http://stranger.test' };
    const refused = await plane.request('/control/workers/register', { method: 'POST', key, json });
    expect(refused).toBeRefusedWith(403, 'ACCESS_DENIED');
    const answer = await plane.request('/control/workers/stranger', { key });
    expect(answer).toBeRefusedWith(404, 'WORKER_UNKNOWN');
  });

  it('show that they are overloaded, and are drained with a key of scope workers:manage, and no other key', async () => {
    const join = await joinKey();
    const worker = new ScriptedWorker('busy', join);
    await worker.register();
    await worker.beat('OVERLOADED');
    const shown = () => admin().getWorker({ params: { workerId: 'busy' } });
    expect(await shown()).toMatchObject({ status: 'READY', isOverloaded: true });
    await worker.beat();
    expect(await shown()).toMatchObject({ status: 'READY', isOverloaded: false });
    const drain = (key: string) => plane.request('/control/workers/busy/drain', { method: 'POST', key });
    const tenant = await storeKey(database, { tenantId: 'acme', scopes: ['control:read', 'control:write'] });
    for (const key of [join, tenant]) expect(await drain(key)).toBeRefusedWith(403, 'ACCESS_DENIED');
    const manager = await storeKey(database, { tenantId: 'platform', scopes: ['workers:manage'] });
    expect(await drain(manager)).toMatchObject({ status: 202, body: { id: 'busy', status: 'DRAINING' } });
    await worker.beat();
    expect(await shown()).toMatchObject({ status: 'DRAINING' });
  });
});
