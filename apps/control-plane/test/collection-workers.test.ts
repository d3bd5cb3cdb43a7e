import {
  collectionRoutes,
  collectionWorkerRoutes,
  createClient,
  type CollectionRoute,
  type WorkerHeartbeat,
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

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  database = await test.connect();
  plane = await startControlPlane(test.url);
});
afterAll(async () => {
  await plane?.stop();
  await test.drop();
});

const idle = { cpu: 0, activeConnections: 0, requestRate: 0, latencyMs: 0, errorRate: 0, memoryBytes: 0 };

/** A worker that reports what it was told, whenever it is asked to. */
class ScriptedWorker {
  readonly #client;
  readonly #workerId: string;
  orders: WorkerOrders = { incarnation: 0, heartbeatMs: 0, assignments: [] };

  constructor(workerId: string, apiKey: string) {
    this.#workerId = workerId;
    this.#client = createClient(collectionWorkerRoutes, { url: plane.url, apiKey });
  }

  async register(capacity = 50): Promise<void> {
    const baseUrl = `http://${this.#workerId}.test:8080`;
    this.orders = await this.#client.registerWorker({ body: { workerId: this.#workerId, baseUrl, capacity } });
  }

  async beat(status: WorkerHeartbeat['status'] = 'READY'): Promise<void> {
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
    return this.#client.deregisterWorker({ params: { workerId: this.#workerId } });
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

  it('join with a key of scope workers:join, and no other key', async () => {
    const key = await storeKey(database, { tenantId: 'acme', scopes: ['control:read', 'control:write'] });
    const json = { workerId: 'stranger', baseUrl: 'http://stranger.test' };
    const refused = await plane.request('/control/workers/register', { method: 'POST', key, json });
    expect(refused).toBeRefusedWith(403, 'ACCESS_DENIED');
    const answer = await plane.request('/control/workers/stranger', { key });
    expect(answer).toBeRefusedWith(404, 'WORKER_UNKNOWN');
  });
});
