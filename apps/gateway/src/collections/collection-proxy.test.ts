import type { Authentication } from '@drover/collection-engine';
import { defaultTenantId, recordsPathName, type ApiKeyId, type Scope, type TenantId } from '@drover/contracts';
import type { FastLaneExchange, FastLaneRequest } from '@drover/http-edge';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { describe, expect, it } from 'vitest';
import { CollectionProxy } from './collection-proxy.js';

const callerOf = (tenant: string, scopes: readonly Scope[] = ['records:read']): Authentication => ({
  caller: { keyId: 'key' as ApiKeyId, tenantId: tenant as TenantId, scopes, expiresAt: undefined },
});

function toShown(status: number, body: string): string {
  if (status === 200) return body;
  const { errors } = JSON.parse(body) as {
    readonly errors: readonly { readonly code: string; readonly detail: string }[];
  };
  return `${status} ${errors[0]?.code} ${errors[0]?.detail}`;
}

/** A proxy without a collection worker: what it would send there is refused with GATEWAY_NO_COLLECTION_WORKER. */
function proxyOf(collections: Readonly<Record<string, readonly string[]>>, stored: readonly string[] = []) {
  const lookedUp: string[] = [];
  const proxy = new CollectionProxy({
    collectionWorkerUrl: undefined,
    collectionWorkerUrlFile: undefined,
    names: {
      isEmpty: Object.keys(collections).length === 0,
      targetsOf: (name) =>
        Object.hasOwn(collections, name)
          ? new Map(collections[name]?.map((tenantId) => [tenantId, { tenantId, collectionId: name }]))
          : undefined,
      namesOf: (tenant) =>
        Object.entries(collections).flatMap(([name, tenants]) => (tenants.includes(tenant) ? [name] : [])),
      lookUp: async (tenant, name) => {
        lookedUp.push(`${tenant}/${name}`);
        if (name === 'broken') throw new Error('PostgreSQL is away');
        return stored.includes(`${tenant}/${name}`) ? { tenantId: tenant, collectionId: name } : undefined;
      },
    },
    routes: {
      hasWorkers: false,
      find: () => undefined,
      findForTenant: () => ({ generation: 0, endpoints: [] }),
      findOwn: () => ({ generation: 0, endpoints: [] }),
      refresh: async () => undefined,
      catchUp: async () => undefined,
      onChange: undefined,
    },
    authenticator: {
      authenticateCached: (header) => {
        if (header === 'Bearer drv_bad') return { refused: 'unknown' };
        if (header === 'Bearer drv_new' || header === 'Bearer drv_unchecked') return undefined;
        const [tenant = '', ...scopes] = header?.slice('Bearer drv_'.length).split(' ') ?? [];
        return scopes.length === 0 ? callerOf(tenant) : callerOf(tenant, scopes as Scope[]);
      },
      authenticate: async (header) => {
        if (header === 'Bearer drv_unchecked') throw new Error('PostgreSQL is away');
        return callerOf('acme');
      },
    },
    functions: {
      serve: () => true,
      // The only function is that of /api/hello.
      serveFastLane: ({ url }, exchange, unserved) => {
        const { status, headers, body } =
          unserved && url !== '/api/hello' ? unserved('id') : { status: 200, headers: [], body: 'function' };
        exchange.answer(status, headers, body);
        return true;
      },
    },
    cors: undefined,
    holdMs: 0,
    maxHeldRequests: 0,
    recordsBodyBytes: 1_000,
    clock: systemClock,
    randomness: systemRandomness,
    observe: () => undefined,
  });
  const route = (url: string, authorization?: string): Promise<string> =>
    new Promise((resolve) => {
      const request = { method: 'GET', url, headers: authorization === undefined ? {} : { authorization } };
      const exchange = {
        answer: (status: number, _headers: readonly string[], body: string) =>
          resolve(body.includes('GATEWAY_NO_COLLECTION_WORKER') ? 'collection' : toShown(status, body)),
      };
      proxy.serveFastLane(
        { ...request, rawHeaders: [], body: Buffer.alloc(0) } as unknown as FastLaneRequest,
        exchange as unknown as FastLaneExchange,
      );
    });
  return { route, lookedUp };
}

describe('CollectionProxy', () => {
  it('sends a request to the collection worker if the tenant of its key has the collection', async () => {
    const { route } = proxyOf({ orders: ['acme'] });
    expect(await route('/api/orders?sort=a', 'Bearer drv_acme')).toBe('collection');
    expect(await route('/api/orders/1', 'Bearer drv_acme')).toBe('collection');
    expect(await route('/api/orders', 'Bearer drv_new')).toBe('collection');
    expect(await route('/api/orders', 'Bearer drv_globex control:read')).toBe('function');
    expect(await route('/api/hello', 'Bearer drv_acme')).toBe('function');
    expect(await route('/orders', 'Bearer drv_acme')).toBe('function');
  });

  it('takes a request without a key for one of the default tenant, which the collection worker asks for a key', async () => {
    const { route, lookedUp } = proxyOf({ orders: ['acme'], notes: [defaultTenantId] });
    expect(await route('/api/notes')).toBe('collection');
    expect(await route('/api/orders')).toBe('function');
    expect(await route('/api/notes', 'Bearer other')).toBe('collection');
    expect(lookedUp).toEqual([]);
  });

  it('finds a collection that was defined a moment ago, of which no event has told yet', async () => {
    const { route } = proxyOf({}, ['acme/orders']);
    expect(await route('/api/orders', 'Bearer drv_acme')).toBe('collection');
    expect(await route('/api/hello', 'Bearer drv_acme')).toBe('function');
  });

  it('lets the collection worker refuse a key that is not valid, and leaves calls of functions alone', async () => {
    const { route } = proxyOf({ orders: ['acme'] });
    expect(await route('/api/orders', 'Bearer drv_bad')).toBe('collection');
    expect(await route('/api/hello', 'Bearer drv_bad')).toBe('function');
  });

  it('serves functions while PostgreSQL is away', async () => {
    const { route } = proxyOf({}, []);
    expect(await route('/api/broken', 'Bearer drv_acme')).toBe('function');
  });

  it('leaves a collection to its worker while PostgreSQL is away: 404 would say that its records do not exist', async () => {
    const { route } = proxyOf({ orders: ['acme'], notes: ['acme', 'globex'], broken: ['globex'] });
    expect(await route('/api/orders/1', 'Bearer drv_unchecked')).toBe('collection');
    expect(await route('/api/notes/1', 'Bearer drv_unchecked')).toBe('collection');
    expect(await route('/api/broken/1', 'Bearer drv_acme')).toBe('collection');
    expect(await route('/api/hello', 'Bearer drv_unchecked')).toBe('function');
  });
});

describe('a path that is neither a collection nor a function', () => {
  it('is answered as the records API does, with a similar collection of the tenant that the key may use', async () => {
    const { route } = proxyOf({ orders: ['acme'], order: ['globex'] });
    const unknown = '404 COLLECTION_UNKNOWN Your tenant has no collection "ordres".';
    const list = ' List the collections with "drover collections list".';
    expect(await route('/api/ordres/1', 'Bearer drv_acme')).toBe(`${unknown} Did you mean "orders"?${list}`);
    expect(await route('/api/ordres', 'Bearer drv_acme records:write:notes')).toBe(`${unknown}${list}`);
    expect(await route('/api/ordres', 'Bearer drv_acme control:read')).toBe('function');
    expect(await route('/api/ordres', 'Bearer drv_bad')).toBe('function');
    expect(await route('/api/ordres')).toBe('function');
  });
});

describe('recordsPathName', () => {
  it.each([
    ['/api/orders', 'orders'],
    ['/api/orders/1', 'orders'],
    ['/api/orders?x=/y', 'orders'],
    ['/api/gr%C3%B6%C3%9Fe', 'größe'],
    ['/api/%zz', undefined],
    ['/api/', undefined],
    ['/v1/orders', undefined],
  ])('of %s is %s', (target, name) => {
    expect(recordsPathName(target)).toBe(name);
  });
});
