import { hasCode } from '@drover/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchRecordRoute } from './match-route.js';
import { recordRoutes } from './record-routes.js';

function codeOf(act: () => unknown): string {
  try {
    act();
    return 'none';
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
}

describe('matchRecordRoute', () => {
  it.each([
    ['GET', '/api/orders', 'listRecords', { collection: 'orders' }],
    ['GET', '/api/orders/', 'listRecords', { collection: 'orders' }],
    ['HEAD', '/api/orders/1', 'getRecord', { collection: 'orders', id: '1' }],
    ['POST', '/api/orders?on_conflict=number', 'createRecords', { query: 'on_conflict=number', path: '/api/orders' }],
    ['DELETE', '/api/orders?filter[a][eq]=/x/y', 'deleteRecords', { query: 'filter[a][eq]=/x/y' }],
    ['GET', '/api/orders/aggregate?group=a', 'aggregateRecords', { collection: 'orders', id: undefined }],
    ['GET', '/api/orders/changes?since=3', 'listChanges', { collection: 'orders' }],
    ['POST', '/api/orders/1/restore', 'restoreRecord', { id: '1' }],
    ['GET', '/api/orders/1/versions/2', 'getRecordVersion', { id: '1', version: '2' }],
    ['POST', '/api/orders/1/versions/2/restore', 'restoreRecordVersion', { id: '1', version: '2' }],
    ['POST', '/api/operations', 'runOperations', { collection: undefined }],
    ['GET', '/api/openapi.json', 'describeApi', { collection: undefined }],
    ['GET', '/api/gr%C3%B6%C3%9Fe/a%2Fb', 'getRecord', { collection: 'größe', id: 'a/b' }],
    [
      'GET',
      '/api/customers/7/orders',
      'listRecords',
      { collection: 'orders', parent: { collection: 'customers', id: '7' } },
    ],
    ['PATCH', '/api/customers/7/orders/1', 'updateRecord', { id: '1', parent: { collection: 'customers', id: '7' } }],
    ['GET', '/api/customers/7/orders/aggregate', 'aggregateRecords', { parent: { collection: 'customers', id: '7' } }],
    ['GET', '/api/operations/7', 'getRecord', { collection: 'operations', id: '7' }],
    ['GET', '/api/constructor', 'listRecords', { collection: 'constructor' }],
  ])('%s %s is %s', (method, target, operation, place) => {
    const match = matchRecordRoute(method, target);
    expect(match.route.operation).toBe(operation);
    expect(match).toMatchObject(place);
  });

  it.each([
    '/api/',
    '/api//orders',
    '/api/orders//1',
    '/api/a/1/b/2/c/3',
    '/api/orders/1/versions/2/other',
    '/api/customers/7/orders/_changes',
    '/api/customers/7/orders/stream',
    '/api/customers/7/orders/import',
    '/api/customers/7/orders/1/versions',
    '/api/customers/7/orders/1/restore',
  ])('does not know %s', (target) => {
    expect(codeOf(() => matchRecordRoute('GET', target))).toBe('RECORD_ROUTE_NOT_FOUND');
  });

  it.each(['/xyz/orders', '/API/orders', '/', '', 'http://host/api/orders'])('serves nothing at %s', (target) => {
    expect(codeOf(() => matchRecordRoute('GET', target))).toBe('RECORD_ROUTE_NOT_FOUND');
  });

  it('names the methods that a path takes', () => {
    expect(() => matchRecordRoute('TRACE', '/api/orders')).toThrow(/Send GET, POST, PATCH, PUT, DELETE, HEAD/);
    expect(codeOf(() => matchRecordRoute('GET', '/api/operations'))).toBe('METHOD_NOT_ALLOWED');
  });

  it('refuses a path that cannot be decoded', () => {
    expect(codeOf(() => matchRecordRoute('GET', '/api/%zz'))).toBe('BAD_REQUEST');
  });

  it('finds every route of the table', () => {
    for (const { method, path, operation } of recordRoutes) {
      const target = path.replaceAll('{collection}', 'c').replaceAll('{id}', 'i').replaceAll('{version}', '1');
      expect(matchRecordRoute(method, target).route.operation).toBe(operation);
    }
  });

  it('either matches or refuses any target, and keeps the query as it was sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), fc.string(), (path, query) => {
        try {
          const match = matchRecordRoute('GET', `/api/${path.replaceAll('?', '')}?${query}`);
          expect(match.query).toBe(query);
        } catch (error) {
          expect(
            hasCode(error, 'RECORD_ROUTE_NOT_FOUND') ||
              hasCode(error, 'METHOD_NOT_ALLOWED') ||
              hasCode(error, 'BAD_REQUEST'),
          ).toBe(true);
        }
      }),
    );
  });
});
