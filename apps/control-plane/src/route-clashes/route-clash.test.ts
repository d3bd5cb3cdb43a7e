import type { IndexedFunction } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { applicationRouteTaken, collectionRouteTaken } from './errors.js';
import { claimedRoutes, findClashes, newRoutes } from './route-clash.js';

/** A function with a route of literal segments, and parameters after them. */
function functionOf(path: string, more: Partial<IndexedFunction> = {}): IndexedFunction {
  const literals = path.toLowerCase().split('/');
  const firstParameter = literals.findIndex((segment) => segment.includes('{'));
  const route = { path, literals: firstParameter === -1 ? literals : literals.slice(0, firstParameter) };
  const name = `f-${path}`;
  return {
    name,
    triggerType: 'httpTrigger',
    isDisabled: false,
    trigger: { route: path },
    metadata: {},
    route,
    ...more,
  };
}

const clashesOf = (collection: string, ...functions: readonly IndexedFunction[]): string[] =>
  findClashes([collection], claimedRoutes('shop', functions)).map(({ path, route }) => `${path} ${route}`);

describe('findClashes', () => {
  it.each([
    ['orders', 'api/orders'],
    ['orders', 'api/orders/{id}'],
    ['orders', 'api/orders/export/csv'],
    // Functions match paths in any case, so both spellings reach both.
    ['Orders', 'api/orders'],
    ['orders', 'API/ORDERS/{id?}'],
    // The prefix of the application is "api/v1", or none and the route starts with "api".
    ['v1', 'api/v1/hello'],
    ['Größe', 'api/größe'],
  ])('finds that the collection %s and the route %s have the same paths', (collection, route) => {
    expect(clashesOf(collection, functionOf(route))).toEqual([`/api/${collection} ${route}`]);
  });

  it.each([
    ['orders', 'api/orders-archive'],
    ['orders', 'api/order'],
    ['orders-archive', 'api/orders'],
    ['orders', 'api/{collection}'],
    ['orders', 'api/{*rest}'],
    ['orders', 'api/orders{suffix}'],
    ['orders', '{prefix}/orders'],
    ['orders', 'orders'],
    ['orders', 'v2/orders'],
    ['orders', 'api'],
    ['orders', 'internal/api/orders'],
  ])('lets the collection %s and the route %s be', (collection, route) => {
    expect(clashesOf(collection, functionOf(route))).toEqual([]);
  });

  it('counts no function that is disabled, and none without a route', () => {
    const { route: _, ...queue } = functionOf('api/orders', { triggerType: 'queueTrigger' });
    expect(clashesOf('orders', functionOf('api/orders', { isDisabled: true }), queue)).toEqual([]);
  });

  it('keeps the names of the records API for it as soon as there is a collection', () => {
    const routes = claimedRoutes('shop', [functionOf('api/operations'), functionOf('api/openapi.json')]);
    expect(findClashes([], routes)).toEqual([]);
    expect(findClashes(['orders'], routes)).toMatchObject([{ path: '/api/operations' }, { path: '/api/openapi.json' }]);
  });
});

describe('newRoutes', () => {
  const namesOf = (served: readonly IndexedFunction[], added: readonly IndexedFunction[]): string[] =>
    newRoutes('shop', { served, added }).map(({ name }) => name);

  it('leaves out what the application serves already', () => {
    const orders = functionOf('api/orders/{id}');
    expect(namesOf([], [orders])).toEqual(['orders']);
    expect(namesOf([orders], [functionOf('api/orders/export'), functionOf('api/notes')])).toEqual(['notes']);
    expect(namesOf([functionOf('api/orders', { isDisabled: true })], [orders])).toEqual(['orders']);
  });

  it('leaves out what a version of an earlier release declares, which does not tell its routes', () => {
    const { route: _, ...untold } = functionOf('api/orders');
    expect(namesOf([untold], [functionOf('api/orders')])).toEqual([]);
    expect(namesOf([{ ...untold, trigger: { route: 'else' } }], [functionOf('api/orders')])).toEqual(['orders']);
    expect(namesOf([{ ...untold, triggerType: 'queueTrigger' }], [functionOf('api/orders')])).toEqual(['orders']);
  });
});

describe('errors of clashes', () => {
  const clashes = findClashes(['orders'], claimedRoutes('shop', [functionOf('api/orders/{id}', { name: 'getOrder' })]));

  it('name the path, the collection, the application, the function and its route', () => {
    for (const { message } of [
      collectionRouteTaken({ clashes }),
      applicationRouteTaken({ applicationId: 'shop', clashes }),
    ])
      for (const part of ['/api/orders', '"orders"', '"shop"', '"getOrder"', '"api/orders/{id}"'])
        expect(message).toContain(part);
  });

  it('count what they do not list', () => {
    const [clash] = clashes;
    const many = Array.from({ length: 5 }, () => clash).filter((one) => one !== undefined);
    expect(collectionRouteTaken({ clashes: many }).message).toContain('2 more routes clash.');
  });
});
