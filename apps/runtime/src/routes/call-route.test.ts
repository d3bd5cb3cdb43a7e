import { describe, expect, it } from 'vitest';
import { httpFunction } from '../bindings/definition.test.fixture.js';
import { RouteTable } from './route-table.js';
import { CallRoute } from './call-route.js';

function routeOf(options: object): CallRoute {
  const { table } = RouteTable.of([httpFunction('f', options)], { routePrefix: 'api' });
  const [route] = table.routes;
  if (!route) throw new Error('no route');
  return new CallRoute(route);
}

const targetOf = (options: object, input: unknown, metadata?: Record<string, string>) =>
  routeOf(options).target({ metadata, input: () => input });

describe('a call of an HTTP function', () => {
  it('is a POST with the input as its body, and does not look at the input without need', () => {
    const input = () => expect.unreachable();
    const target = routeOf({}).target({ metadata: undefined, input });
    expect(target).toEqual({ method: 'POST', address: '/api/f', query: {}, params: {}, hasBody: true });
    expect(routeOf({}).target({ metadata: { a: 'b c', A: '&' }, input })).toMatchObject({
      address: '/api/f?a=b+c&A=%26',
      query: { a: 'b c', A: '&' },
    });
  });

  it.each([
    [['PUT', 'GET'], 'PUT', true],
    [['GET', 'POST'], 'POST', true],
    [['GET', 'PUT'], 'GET', false],
    [['HEAD'], 'HEAD', false],
    ['delete', 'DELETE', true],
  ])('of methods %j is a %s', (methods, method, hasBody) => {
    expect(targetOf({ methods }, null)).toMatchObject({ method, hasBody });
  });

  it('fills parameters of the route from the metadata, then from the input', () => {
    const route = { route: 'shops/{Shop}/items/{id:int}' };
    expect(targetOf(route, { shop: 'a/b', id: 7, other: 1 })).toMatchObject({
      address: '/api/shops/a%2Fb/items/7',
      params: { Shop: 'a%2Fb', id: '7' },
      query: {},
    });
    expect(targetOf(route, { shop: 'x', id: 7 }, { SHOP: 'y', more: 'z' })).toMatchObject({
      address: '/api/shops/y/items/7?more=z',
      params: { Shop: 'y', id: '7' },
      query: { more: 'z' },
    });
  });

  it.each([
    ['{name?}', {}, '/api'],
    ['{name?}', { name: '' }, '/api'],
    ['hello/{name=you}', {}, '/api/hello'],
    ['files/{*path}', { path: 'a b/c' }, '/api/files/a%20b/c'],
    ['files/{*path}', {}, '/api/files'],
    ['files/{name}.{ext?}', { name: 'x' }, '/api/files/x'],
    ['files/{name}.{ext?}', { name: 'x', ext: 'txt' }, '/api/files/x.txt'],
  ])('of route %s with %j goes to %s', (route, input, address) => {
    expect(targetOf({ route }, input)).toMatchObject({ address });
  });

  it.each([
    ['{id}', {}, 'needs a value for "id"'],
    ['{id}', { id: '' }, 'needs a value for "id"'],
    ['{id}', { id: { a: 1 } }, 'needs a value for "id"'],
    ['{id}', 'id', 'needs a value for "id"'],
    ['{id}', null, 'needs a value for "id"'],
    ['{id:int}', { id: 'seven' }, 'does not match the route'],
    ['files/{name}', { name: '..' }, 'does not match the route'],
    ['files/{*path}', { path: 'a/../b' }, 'does not match the route'],
    ['x-{a}-{b}', { a: 1 }, 'needs a value for "b"'],
  ])('of route %s with %j is refused: it %s', (route, input, problem) => {
    expect(targetOf({ route }, input)).toEqual({ problem: expect.stringContaining(problem) });
  });

  it('has the input in the query where there is no body, and the metadata above it', () => {
    const route = { route: 'get/{id}', methods: ['GET'] };
    const input = JSON.parse('{"id":1,"q":"a","deep":{"x":1},"flag":true,"__proto__":"p"}') as unknown;
    expect(targetOf(route, input, { q: 'b' })).toMatchObject({
      address: '/api/get/1?q=b&flag=true&__proto__=p',
      hasBody: false,
      params: { id: '1' },
    });
  });
});
