import { describe, expect, it } from 'vitest';
import { checkRoutes } from './route-check.js';

describe('checkRoutes', () => {
  it('warns of every path that a collection keeps from a function', () => {
    const clash = { application: 'shop', function: 'getOrder', route: 'api/orders/{id}' };
    const findings = checkRoutes([
      { ...clash, path: '/api/orders', collection: 'orders' },
      { ...clash, path: '/api/operations' },
    ]);
    expect(findings.map(({ verdict }) => verdict)).toEqual(['warning', 'warning']);
    for (const part of ['/api/orders', '"orders"', '"shop"', '"getOrder"', '"api/orders/{id}"'])
      expect(findings[0]?.found).toContain(part);
    expect(findings[1]?.found).toContain('the records API');
  });

  it('warns of a route that two applications have', () => {
    const clash = { path: '/api/hello', application: 'shop', function: 'hello', route: 'api/hello' };
    const [finding] = checkRoutes([{ ...clash, otherApplication: 'other', otherFunction: 'greet' }]);
    expect(finding?.verdict).toBe('warning');
    for (const part of ['/api/hello', '"shop"', '"hello"', '"other"', '"greet"'])
      expect(finding?.found).toContain(part);
  });

  it('is content without any', () => {
    expect(checkRoutes([])).toMatchObject([{ verdict: 'good' }]);
  });
});
