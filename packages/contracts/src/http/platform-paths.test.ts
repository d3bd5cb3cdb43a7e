import { describe, expect, it } from 'vitest';
import { controlRoutes } from './control-routes.js';
import { functionRoutes } from './function-routes.js';
import { isForFunctions, isRecordsImport } from './platform-paths.js';

describe('isForFunctions', () => {
  it.each([...Object.values(controlRoutes), ...Object.values(functionRoutes)].map(({ path }) => path))(
    'leaves %s to the platform, with any query',
    (path) => {
      for (const target of [path, `${path}?limit=1`, `${path}#x`, `http://127.0.0.1:7070${path}`])
        expect(isForFunctions(target)).toBe(false);
    },
  );

  it.each(['/v1', '/v1/', '/v1/unknown', '/control', '/control/unknown', '/function/x/y', '/v1?x=/api/y', '*'])(
    'leaves %s to the platform, although no route has it',
    (target) => {
      expect(isForFunctions(target)).toBe(false);
    },
  );

  it.each([
    '/',
    '/?code=k',
    '/api',
    '/api/hello',
    '/API/hello',
    '/orders/7',
    '/v2/orders',
    '/v10',
    '/healthz/details',
    '/metrics/daily?x=1',
    '/openapi',
    '/admin/functions',
    '/Admin/host/status',
    '/runtime/webhooks/x',
    '//v1/functions',
    'http://127.0.0.1:7070',
    'http://127.0.0.1:7070/orders/7',
  ])('gives %s to the functions', (target) => {
    expect(isForFunctions(target)).toBe(true);
  });
});

describe('isRecordsImport', () => {
  it.each([
    ['POST', '/api/orders/import', true],
    ['POST', '/api/customers/1/orders/import?on_conflict=number', true],
    ['GET', '/api/orders/import', false],
    ['POST', '/api/orders/imports', false],
    ['POST', '/api/orders?x=/import', false],
    ['POST', '/v1/import', false],
  ])('%s %s: %s', (method, target, expected) => {
    expect(isRecordsImport(method, target)).toBe(expected);
  });
});
