import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseHostJson } from '../applications/host-json.js';
import { httpFunction } from '../bindings/definition.test.fixture.js';
import { MemoryFunctionKeys } from './function-keys.js';
import { createHttpApplication, type HttpApplication } from './http-application.js';
import { resolveApplication } from './resolve-application.js';
import { RouteResolver } from './route-resolver.js';

function applicationOf(name: string, routes: readonly string[], routePrefix = 'api'): HttpApplication {
  const text = JSON.stringify({ version: '2.0', extensions: { http: { routePrefix } } });
  return createHttpApplication({
    name,
    functions: routes.map((route, n) => httpFunction(`f${n}`, { route })),
    options: parseHostJson(text, {}).hostJson.extensions.http,
    invoker: { invoke: () => expect.unreachable() },
    keys: new MemoryFunctionKeys({ masterKey: 'm', functionKeys: {}, systemKeys: {}, functions: {} }),
    requiresKeys: false,
  }).application;
}

const resolverOf = (all: readonly HttpApplication[]): RouteResolver =>
  new RouteResolver(() =>
    all.map((http) => ({ routes: [http], choose: (matches) => (matches(http) ? http : undefined) })),
  );

describe('the application of a request among many', () => {
  it('has the route, with literals, parameters, catch-all routes and without a prefix', () => {
    const all = [
      applicationOf('a', ['hello']),
      applicationOf('b', ['orders/{id:int}', 'orders/{id}/lines']),
      applicationOf('c', ['{*rest}'], ''),
      applicationOf('d', ['{kind}/x']),
    ];
    const nameOf = (url: string): string | undefined => resolverOf(all).resolve({ url })?.name;
    expect(nameOf('/api/hello?x=1')).toBe('a');
    expect(nameOf('/api/orders/7')).toBe('b');
    expect(nameOf('/api/orders/seven')).toBe('c');
    expect(nameOf('/api/orders/seven/lines')).toBe('b');
    expect(nameOf('/api/any/x')).toBe('d');
    expect(nameOf('/API/HELLO')).toBe('a');
    expect(nameOf('/')).toBe('c');
    expect(nameOf('/api/../x')).toBeUndefined();
  });

  it('is the same as without an index, for any routes and paths', () => {
    const segment = fc.constantFrom('a', 'b', 'c', '{p}', '{q:int}', '{r?}', '{*rest}', 'a{p}');
    const route = fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join('/'));
    const application = fc.record({
      routes: fc.array(route, { minLength: 1, maxLength: 3 }),
      prefix: fc.constantFrom('', 'api', 'a', 'a/b'),
    });
    const path = fc.array(fc.constantFrom('a', 'b', 'c', 'ab', '7', 'api'), { maxLength: 4 });
    fc.assert(
      fc.property(fc.array(application, { minLength: 2, maxLength: 4 }), path, (given, segments) => {
        const all = given.map(({ routes, prefix }, n) => applicationOf(`app${n}`, routes, prefix));
        const url = `/${segments.join('/')}`;
        const plain = resolveApplication(all, { url });
        // Without a route, the plain way answers with the first application.
        const hasRoute = plain?.routes.match('GET', { segments, folded: segments }) !== undefined;
        expect(resolverOf(all).resolve({ url })?.name).toBe(hasRoute ? plain?.name : undefined);
      }),
    );
  });

  it('is looked up again after a change', () => {
    const all = [applicationOf('a', ['hello'])];
    const resolver = resolverOf(all);
    expect(resolver.resolve({ url: '/api/other' })).toBeUndefined();
    all.push(applicationOf('b', ['other']));
    resolver.clear();
    expect(resolver.resolve({ url: '/api/other' })?.name).toBe('b');
  });
});
