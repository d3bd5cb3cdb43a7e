import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { definitionOf, httpFunction } from '../bindings/definition.test.fixture.js';
import { pathSegments } from './request-target.js';
import { matchRoute, segmentRange } from './route-matcher.js';
import { RouteTable } from './route-table.js';
import { parseRouteTemplate } from './route-template.js';

function table(routes: Readonly<Record<string, object>>, routePrefix = 'api') {
  const functions = Object.entries(routes).map(([name, options]) => httpFunction(name, options));
  return RouteTable.of(functions, { routePrefix, reserved: new Set(['healthz']) });
}
function find(built: ReturnType<typeof table>, method: string, path: string) {
  const segments = pathSegments(path);
  const found = segments && built.table.match(method, segments);
  return found && [found.route.definition.name, { ...found.parameters }];
}

describe('RouteTable', () => {
  it('finds functions by their name where they have no route', () => {
    const built = table({ Hello: {}, Other: { route: 'other/{id}' } });
    expect(find(built, 'GET', '/api/hello')).toEqual(['Hello', {}]);
    expect(find(built, 'GET', '/API/HELLO/')).toEqual(['Hello', {}]);
    expect(find(built, 'GET', '/api/other/5')).toEqual(['Other', { id: '5' }]);
    expect(find(built, 'GET', '/hello')).toBeUndefined();
    expect(find(built, 'GET', '/api/other')).toBeUndefined();
  });

  it('prefers literals to parameters, constraints to none, and everything to a catch-all, whatever the names', () => {
    for (const [first, second] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      const routes = (one: string, other: string) => table({ [first]: { route: one }, [second]: { route: other } });
      const found = (one: string, other: string, path: string) => find(routes(one, other), 'GET', `/api/${path}`)?.[0];
      expect(found('literal', '{x}', 'literal')).toBe(first);
      expect(found('items/{id:int}', 'items/{name}', 'items/5')).toBe(first);
      expect(found('items/{id:int}', 'items/{name}', 'items/x')).toBe(second);
      expect(found('items/{name}.json', 'items/{name}', 'items/x.json')).toBe(first);
      expect(found('items/{name}', '{*rest}', 'items/x')).toBe(first);
      expect(found('{kind}/latest', '{kind}/{id}', 'books/latest')).toBe(first);
      expect(found('books/{id}', '{kind}/latest', 'books/latest')).toBe(first);
      expect(found('items', 'items/{id?}', 'items')).toBe(first);
    }
  });

  it('goes on to a less specific route where the methods of a more specific one do not fit', () => {
    const rest = table({
      a: { route: '{*rest}', methods: ['POST'] },
      B: { route: 'items/{id:int}', methods: ['GET'] },
      c: { route: 'items/{name}', methods: ['GET'] },
    });
    expect(find(rest, 'GET', '/api/items/5')).toEqual(['B', { id: '5' }]);
    expect(find(rest, 'GET', '/api/items/x')).toEqual(['c', { name: 'x' }]);
    expect(find(rest, 'POST', '/api/items/x')).toEqual(['a', { rest: 'items/x' }]);
    expect(find(rest, 'POST', '/api')).toEqual(['a', {}]);
    expect(find(rest, 'POST', '/api/1/2/3/4/5/6')).toEqual(['a', { rest: '1/2/3/4/5/6' }]);
  });

  it.each([
    [
      { one: { route: 'x' }, two: { route: 'X' } },
      'its route "api/X" is never reached: every request for it goes to function "one" (route "api/x")',
    ],
    [{ one: { route: 'x/{a}' }, two: { route: 'x/{b}' } }, 'its route "api/x/{b}" is never reached'],
    [{ one: { route: 'x/{a?}' }, two: { route: 'x/{b}' } }, 'its route "api/x/{b}" is never reached'],
    [{ one: { route: 'x/{a:int}' }, two: { route: 'x/{b:INT}' } }, 'its route "api/x/{b:INT}" is never reached'],
    [
      { one: { route: 'x', methods: ['get', 'post'] }, two: { route: 'x', methods: ['post'] } },
      'its route "api/x" is never reached',
    ],
    [
      { one: { route: 'x', methods: ['get'] }, two: { route: 'x', methods: ['get', 'post'] } },
      'GET requests for its route "api/x" go to function "one" (route "api/x")',
    ],
    [{ one: { route: 'x', methods: ['get'] }, two: { route: 'x' } }, 'GET requests for its route "api/x" go to'],
  ])('warns about %j, where one route hides another', (routes, problem) => {
    const { table: built, problems, warnings } = table(routes);
    expect(warnings).toMatchObject([{ functionName: 'two', problem: expect.stringContaining(problem) }]);
    expect(problems).toEqual([]);
    expect(built.routes.map(({ definition }) => definition.name)).toEqual(['one', 'two']);
  });

  it.each([
    [{ one: { route: 'x' }, two: { route: '{a}' } }],
    [{ one: { route: 'x/{a:int}' }, two: { route: 'x/{a}' } }],
    [{ one: { route: 'x/{a}' }, two: { route: 'x/{a?}' } }],
    [{ one: { route: 'x/{a:int}' }, two: { route: 'x/{b:alpha}' } }],
    [{ one: { route: 'x', methods: ['get'] }, two: { route: 'x', methods: ['post'] } }],
    [{ one: { route: '{*rest}' }, two: { route: 'x/{*rest}' } }],
  ])('does not warn about %j', (routes) => {
    expect(table(routes)).toMatchObject({ problems: [], warnings: [] });
  });

  it('looks at methods: HEAD and OPTIONS too only where they are listed', () => {
    const built = table({
      get: { route: 'x', methods: ['get'] },
      put: { route: 'x', methods: 'PUT, delete' },
      all: { route: 'y' },
    });
    expect(find(built, 'GET', '/api/x')).toEqual(['get', {}]);
    expect(find(built, 'DELETE', '/api/x')).toEqual(['put', {}]);
    expect(find(built, 'HEAD', '/api/x')).toBeUndefined();
    expect(find(built, 'POST', '/api/x')).toBeUndefined();
    expect(find(built, 'PATCH', '/api/y')).toEqual(['all', {}]);
  });

  it('knows prefixes that are empty or longer', () => {
    expect(find(table({ hello: {} }, ''), 'GET', '/hello')).toEqual(['hello', {}]);
    expect(find(table({ hello: {} }, '/v1/api/'), 'GET', '/v1/api/hello')).toEqual(['hello', {}]);
    expect(find(table({ hello: { route: '/' } }, ''), 'GET', '/hello')).toBeUndefined();
  });

  it.each([
    [{ two: { route: 'admin/x' } }, 'reserved'],
    [{ two: { route: 'Runtime' } }, 'reserved'],
    [{ two: { route: '{a' } }, 'its route "api/{a" has a "{" without its "}"'],
    [{ two: { authLevel: 'user' } }, 'its authLevel "user" is invalid; use one of'],
    [{ two: { methods: [5] } }, 'are not a list of HTTP methods'],
    [{ two: { methods: 'GET /' } }, 'are not a list of HTTP methods'],
  ])('reports %j and leaves that function out', (routes, problem) => {
    const { table: built, problems } = table(routes);
    expect(problems).toMatchObject([{ functionName: 'two', problem: expect.stringContaining(problem) }]);
    expect(built.routes.map(({ definition }) => definition.name)).toEqual(
      Object.keys(routes).filter((name) => name !== 'two'),
    );
  });

  it('lets routes begin like those of the host', () => {
    expect(table({ a: { route: 'administrators' } }).problems).toEqual([]);
  });

  it.each([
    [{ a: { route: 'x' } }, { route: 'X' }, true],
    [{ a: { route: 'x/{one}' } }, { route: 'x/{other}', methods: ['get'] }, true],
    [
      { a: { route: 'x', methods: ['get'] }, b: { route: 'x', methods: ['put'] } },
      { route: 'x', methods: 'PUT,GET' },
      true,
    ],
    [{ a: { route: 'x', methods: ['get'] } }, { route: 'x', methods: ['get', 'post'] }, false],
    [{ a: { route: 'x', methods: ['get'] } }, { route: 'x' }, false],
    [{ a: { route: 'x/{one:int}' } }, { route: 'x/{one}' }, false],
    [{}, { route: 'x' }, false],
  ])('with %j covers %j of another table: %s', (own, other, isCovered) => {
    const [route] = table({ other }).table.routes;
    expect(route && table(own).table.covers(route)).toBe(isCovered);
  });

  it('keeps paths of the host free where there is no prefix', () => {
    expect(table({ healthz: {} }, '').problems[0]?.problem).toContain('reserved');
    expect(table({ healthz: {} }).problems).toEqual([]);
  });

  it('asks for a function key unless told otherwise', () => {
    const trigger = { name: 'req', type: 'httpTrigger', direction: 'in' };
    const { table: built } = RouteTable.of([definitionOf('a', trigger), httpFunction('b', { authLevel: 'ADMIN' })], {
      routePrefix: '',
    });
    expect(built.routes.map(({ authLevel }) => authLevel)).toEqual(['function', 'admin']);
  });

  it('looks at functions with HTTP triggers only', () => {
    const queue = definitionOf('q', { name: 'item', type: 'queueTrigger', direction: 'in' });
    expect(RouteTable.of([queue], { routePrefix: 'api' }).table.routes).toEqual([]);
  });

  const route = fc
    .array(fc.constantFrom('a', 'b', '{@}', '{@:int}', 'a{@}'), { minLength: 1, maxLength: 3 })
    .chain((parts) => fc.constantFrom('', '/{@?}', '/{*@}').map((end) => parts.join('/') + end))
    .map((text) => {
      let parameter = 0;
      return text.replaceAll('@', () => `p${parameter++}`);
    });
  const path = fc
    .array(fc.constantFrom('a', 'b', 'ab', '5', 'A'), { maxLength: 4 })
    .map((parts) => `/${['api', ...parts].join('/')}`);

  it('agrees with trying all routes one after the other', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(route, fc.subarray(['GET', 'POST'], { minLength: 1 })), { maxLength: 8 }),
        path,
        fc.constantFrom('GET', 'POST'),
        (routes, where, method) => {
          const built = table(
            Object.fromEntries(routes.map(([text, methods], index) => [`f${index}`, { route: text, methods }])),
          );
          const segments = pathSegments(where);
          if (!segments) return expect.unreachable();
          const first = built.table.routes.find((candidate) => {
            const parsed = parseRouteTemplate(candidate.path);
            if ('problem' in parsed || !candidate.methods?.has(method)) return false;
            const { least, most } = segmentRange(parsed.template);
            const count = segments.segments.length;
            return count >= least && count <= most && matchRoute(parsed.template, segments) !== undefined;
          });
          expect(built.table.match(method, segments)?.route.definition.name).toBe(first?.definition.name);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('finds one of a thousand', () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `f${index}`);
    const built = table(Object.fromEntries(names.map((name) => [name, { route: `${name}/items/{id:int}` }])));
    const segments = pathSegments('/api/f999/items/5');
    if (!segments) return expect.unreachable();
    expect(built.table.match('GET', segments)?.route.definition.name).toBe('f999');
  });
});
