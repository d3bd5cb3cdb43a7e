import { describe, expect, it } from 'vitest';
import { readRuntimeCallPath, runtimeCallPath } from './runtime-calls.js';

describe('the path of a call to the runtime', () => {
  it('keeps names inside of their segments', () => {
    expect(runtimeCallPath('default', 'shop', 'hello')).toBe('/admin/applications/default/shop/functions/hello/invoke');
    expect(runtimeCallPath('default', '../x', 'a/b')).toBe('/admin/applications/default/..%2Fx/functions/a%2Fb/invoke');
  });

  it('is read as it was written', () => {
    expect(readRuntimeCallPath(runtimeCallPath('default', 'shop', 'hello'))).toEqual({
      application: 'default/shop',
      functionName: 'hello',
    });
    expect(readRuntimeCallPath(runtimeCallPath('default', 'functions', 'invoke'))).toEqual({
      application: 'default/functions',
      functionName: 'invoke',
    });
  });

  it.each([
    '',
    '/admin/applications',
    '/admin/applications/default/shop/functions/hello',
    '/admin/applications/default/shop/functions/hello/invoke/x',
    '/admin/applications/functions/hello/invokes',
    '/admin/applications/functions/invoke',
    '/admin/applicationsdefault/shop/functions/hello/invoke',
    '/other/applications/default/shop/functions/hello/invoke',
  ])('is not %s', (path) => {
    expect(readRuntimeCallPath(path)).toBeUndefined();
  });
});
