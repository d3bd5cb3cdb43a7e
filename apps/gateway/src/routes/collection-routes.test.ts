import { collectionChanged, collectionRouteChanged, workerStatusChanged, type PublishedEvent } from '@drover/contracts';
import type { Queryable } from '@drover/database';
import type { SubscribeOptions } from '@drover/event-bus';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { CollectionEndpoints } from '../endpoints/collection-endpoints.js';
import { defaultEndpointPolicy } from '../picking/endpoint.js';
import { CollectionRoutes } from './collection-routes.js';

interface Row {
  readonly collection_id: string;
  readonly tenant_id: string;
  readonly generation: number;
  readonly endpoints: readonly { readonly workerId: string; readonly url: string; readonly zone?: string }[];
}

const endpointsOf = (...workers: string[]) => workers.map((workerId) => ({ workerId, url: `http://${workerId}.test` }));
const row = (id: string, generation: number, ...workers: string[]): Row => ({
  collection_id: id,
  tenant_id: id === 'notes' ? 'globex' : 'acme',
  generation,
  endpoints: endpointsOf(...workers),
});

/** Routes over a table in memory; `publish` delivers an event as the bus would. */
async function open(rows: Row[], zone?: string) {
  const stored = { rows, hasWorkers: true, reads: [] as string[] };
  const clock = new FakeClock();
  const query = async ({ name }: { readonly name: string }, values?: readonly unknown[]) => {
    stored.reads.push(name);
    if (name === 'gateway-routes') return stored.rows;
    if (name === 'gateway-route') return stored.rows.filter(({ collection_id: id }) => id === values?.[0]);
    const generations = stored.rows.reduce((sum, { generation }) => sum + generation, 0);
    return [{ generations, routes: stored.rows.length, has_workers: stored.hasWorkers }];
  };
  const delivery: { options?: SubscribeOptions } = {};
  const endpoints = new CollectionEndpoints({ policy: defaultEndpointPolicy, clock, onBusy: () => undefined });
  const routes = new CollectionRoutes({
    database: { query } as unknown as Queryable,
    bus: {
      lastPosition: async () => 1,
      subscribe: async (options) => {
        delivery.options = options;
        return { position: 1, close: async () => undefined };
      },
    },
    endpoints,
    zone,
    clock,
  });
  const changes: (string | undefined)[] = [];
  routes.onChange = (id) => changes.push(id);
  await routes.start();
  const publish = async (topic: { readonly name: string }, payload: object) =>
    delivery.options?.handle({ topic: topic.name, payload } as PublishedEvent);
  const routeEvent = ({ collection_id: collectionId, tenant_id: tenantId, ...rest }: Row) =>
    publish(collectionRouteChanged, { collectionId, tenantId, name: collectionId, ...rest });
  const workersOf = (id: string) =>
    routes
      .find(id)
      ?.endpoints.map((endpoint) => endpoint.id)
      .toSorted();
  return { routes, stored, clock, endpoints, changes, publish, routeEvent, workersOf, delivery };
}

describe('CollectionRoutes', () => {
  it('begins with the snapshot, and takes newer routes from events but no older ones', async () => {
    const { workersOf, routeEvent, changes, routes } = await open([row('orders', 5, 'w1', 'w2')]);
    expect([workersOf('orders'), routes.hasWorkers]).toEqual([['w1', 'w2'], true]);
    await routeEvent(row('orders', 4, 'w9'));
    expect(workersOf('orders')).toEqual(['w1', 'w2']);
    await routeEvent(row('orders', 6, 'w2', 'w3'));
    await routeEvent(row('orders', 6, 'w2', 'w3'));
    expect(workersOf('orders')).toEqual(['w2', 'w3']);
    expect(changes).toEqual([undefined, 'orders', 'orders']);
  });

  it('prefers the workers of the zone of the gateway, also after one of them moved to another zone', async () => {
    const named = (one: string, two: string) => [
      { workerId: 'w1', url: 'http://w1.test', zone: one },
      { workerId: 'w2', url: 'http://w2.test', zone: two },
    ];
    const { routes, routeEvent } = await open([{ ...row('orders', 1), endpoints: named('a', 'b') }], 'b');
    const first = () => [routes.find('orders'), routes.findOwn('acme')].map((routed) => routed?.endpoints[0]?.id);
    expect(first()).toEqual(['w2', 'w2']);
    await routeEvent({ ...row('orders', 2), endpoints: named('b', 'a') });
    expect(first()).toEqual(['w1', 'w1']);
  });

  it('keeps an endpoint, its connections and its health while a route names it', async () => {
    const { routes, routeEvent, endpoints } = await open([row('orders', 1, 'w1', 'w2'), row('items', 2, 'w2')]);
    const endpointOf = (id: string, worker: string) => routes.find(id)?.endpoints.find((one) => one.id === worker);
    const second = endpointOf('orders', 'w2');
    await routeEvent(row('orders', 3, 'w2', 'w3'));
    expect(endpointOf('orders', 'w2')).toBe(second);
    expect(endpointOf('items', 'w2')).toBe(second);
    expect(endpoints.all.map(({ id }) => id).toSorted()).toEqual(['w2', 'w3']);
  });

  it('serves paths without a collection by the workers of the tenant, and by any if it has none', async () => {
    const { routes, routeEvent } = await open([row('orders', 1, 'w1'), row('notes', 2, 'w2')]);
    const workersFor = (tenant: string) =>
      routes
        .findForTenant(tenant)
        .endpoints.map(({ id }) => id)
        .toSorted();
    expect([workersFor('acme'), workersFor('globex'), workersFor('other')]).toEqual([['w1'], ['w2'], ['w1', 'w2']]);
    await routeEvent(row('orders', 3, 'w3'));
    expect(workersFor('acme')).toEqual(['w3']);
  });

  it('forgets a removed collection, reads everything again after a gap, and one route on demand', async () => {
    const { stored, workersOf, publish, delivery, routes } = await open([
      row('orders', 1, 'w1'),
      row('items', 2, 'w1'),
    ]);
    await publish(collectionChanged, { collectionId: 'orders', removed: true });
    expect(workersOf('orders')).toBeUndefined();
    stored.rows = [row('items', 4, 'w2')];
    await delivery.options?.onGap?.({ after: 1, next: 9 });
    expect(workersOf('items')).toEqual(['w2']);
    stored.rows = [row('items', 5, 'w3')];
    await Promise.all([routes.refresh('items'), routes.refresh('items')]);
    expect(workersOf('items')).toEqual(['w3']);
    expect(stored.reads.filter((name) => name === 'gateway-route')).toHaveLength(1);
  });

  it('finds a lost event twice a minute, and reads all routes only if something changed', async () => {
    const { stored, clock, workersOf, routes } = await open([row('orders', 1, 'w1')]);
    await clock.advance(30_000);
    expect(stored.reads.filter((name) => name === 'gateway-routes')).toHaveLength(1);
    stored.rows = [row('orders', 2, 'w2')];
    await clock.advance(30_000);
    expect(workersOf('orders')).toEqual(['w2']);
    await routes.stop();
    expect(clock.pending).toBe(0);
  });

  it('finds a lost event also if a later one of another route came', async () => {
    const { stored, clock, workersOf, routeEvent, routes } = await open([
      row('orders', 1, 'w1'),
      row('items', 2, 'w1'),
    ]);
    stored.rows = [row('orders', 3, 'w2'), row('items', 4, 'w2')];
    await routeEvent(row('items', 4, 'w2'));
    expect(workersOf('orders')).toEqual(['w1']);
    await clock.advance(30_000);
    expect(workersOf('orders')).toEqual(['w2']);
    await routes.stop();
  });

  it('keeps its routes while PostgreSQL is away', async () => {
    const { stored, clock, workersOf, routes } = await open([row('orders', 1, 'w1')]);
    Object.defineProperty(stored, 'rows', {
      get: () => {
        throw new Error('PostgreSQL is away');
      },
    });
    await clock.advance(60_000);
    await routes.refresh('orders');
    expect(workersOf('orders')).toEqual(['w1']);
    await routes.stop();
  });

  it('learns from the events of workers whether one has registered', async () => {
    const { stored, publish, routes, changes } = await open([]);
    stored.hasWorkers = false;
    await publish(workerStatusChanged, { workerId: 'w1', status: 'OFFLINE', collections: [] });
    expect(routes.hasWorkers).toBe(false);
    expect(changes).toEqual([undefined, undefined]);
  });
});
