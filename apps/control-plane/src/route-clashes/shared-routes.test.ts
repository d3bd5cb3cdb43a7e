import { describe, expect, it } from 'vitest';
import { applicationRouteTaken } from './errors.js';
import { addedRoutes, findSharedRoutes, type RoutedFunction } from './shared-routes.js';

const functionOf = (applicationId: string, route: string, methods?: readonly string[]): RoutedFunction => ({
  applicationId,
  functionName: `f of ${applicationId}`,
  route,
  methods,
});

describe('routes of two applications', () => {
  it.each([
    ['api/hello', 'API/Hello'],
    ['api/orders/{id}', 'api/orders/{number}'],
    ['api/orders/{id:int?}', 'api/orders/{n:int?}'],
    ['api/files/{*path}', 'api/files/{*rest}'],
  ])('are one if they match the same paths: %s and %s', (one, other) => {
    expect(findSharedRoutes([functionOf('a', one)], [functionOf('b', other)])).toMatchObject([
      { path: `/${one}`, application: 'a', otherApplication: 'b', otherFunction: 'f of b' },
    ]);
  });

  it.each([
    ['api/hello', 'api/hello/world'],
    ['api/orders/{id:int}', 'api/orders/{id:guid}'],
    ['api/{name}', 'api/{*rest}'],
    ['api/hello', 'hello'],
  ])('are two if they do not: %s and %s', (one, other) => {
    expect(findSharedRoutes([functionOf('a', one)], [functionOf('b', other)])).toEqual([]);
  });

  it('are two if they have no method in common, and are of one application', () => {
    const get = functionOf('a', 'api/x', ['GET']);
    expect(findSharedRoutes([get], [functionOf('b', 'api/x', ['POST'])])).toEqual([]);
    expect(findSharedRoutes([get], [functionOf('b', 'api/x', ['POST', 'GET'])])).toHaveLength(1);
    expect(findSharedRoutes([get], [functionOf('a', 'api/x')])).toEqual([]);
  });

  it('count only if they are new to the application', () => {
    const [held, added] = [functionOf('a', 'api/{x}', ['GET']), functionOf('a', 'api/new')];
    expect(addedRoutes([held], [functionOf('a', 'api/{y}', ['GET', 'POST']), added])).toEqual([added]);
  });

  it('are refused with both names', () => {
    const clashes = findSharedRoutes([functionOf('a', 'api/x')], [functionOf('b', 'api/x')]);
    const { message } = applicationRouteTaken({ applicationId: 'a', clashes });
    expect(message).toContain(
      'Its function "f of a" has the route "api/x", but the function "f of b" of the application "b" serves /api/x.',
    );
  });
});
