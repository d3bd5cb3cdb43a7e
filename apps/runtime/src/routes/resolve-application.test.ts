import { describe, expect, it } from 'vitest';
import { httpFunction } from '../bindings/definition.test.fixture.js';
import { resolveApplication } from './resolve-application.js';
import { RouteTable } from './route-table.js';

function app(name: string, routePrefix: string, routes: Readonly<Record<string, object>>) {
  const functions = Object.entries(routes).map(([own, options]) => httpFunction(own, options));
  return { name, routes: RouteTable.of(functions, { routePrefix }).table };
}
const root = app('root', '', { everything: { route: '{*path}', methods: ['GET', 'POST'] } });
const shop = app('shop', 'shop', { orders: { route: 'orders/{id}', methods: ['GET'] } });
const deep = app('deep', 'shop/v2', { orders: { route: 'orders/{id}', methods: ['GET', 'PUT'] } });
const api = app('api', 'api', { hello: {} });

describe('resolveApplication', () => {
  const all = [root, shop, deep, api];
  const found = (url: string, method = 'GET', headers = {}) => resolveApplication(all, { method, url, headers })?.name;

  it('prefers the longest prefix with a route, whatever the order of the folders', () => {
    expect(found('/api/hello')).toBe('api');
    expect(found('/shop/orders/7?x=1')).toBe('shop');
    expect(found('/SHOP/v2/orders/7')).toBe('deep');
    expect(found('/shop/unknown')).toBe('root');
    expect(found('/')).toBe('root');
  });

  it('looks at the method, and for a preflight at the one to come', () => {
    expect(found('/shop/orders/7', 'POST')).toBe('root');
    expect(found('/shop/v2/orders/7', 'OPTIONS', { 'access-control-request-method': 'PUT' })).toBe('deep');
  });

  it('takes the first of equals, and the first where none has a route', () => {
    const [one, two] = [app('one', 'api', { hello: {} }), app('two', 'api', { hello: {}, other: {} })];
    expect(resolveApplication([one, two], { url: '/api/hello' })?.name).toBe('one');
    expect(resolveApplication([one, two], { url: '/api/other' })?.name).toBe('two');
    expect(resolveApplication([one, two], { url: '/nothing' })?.name).toBe('one');
    expect(resolveApplication([one, two], { url: '/a/../b' })?.name).toBe('one');
    expect(resolveApplication([], { url: '/api/hello' })).toBeUndefined();
  });
});
