import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canShareJobHost, checkApplicationDefinition, fullKey, jobHostKey, parseFullKey } from './application-key.js';

const shop = { tenantId: 'default', applicationId: 'shop', metadataVersion: 'm1', codeVersion: 'c1' };
const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,10}$/);

describe('application keys', () => {
  it('name tenant, application, metadata and code', () => {
    expect(jobHostKey(shop)).toBe('default/shop:m1');
    expect(fullKey(shop)).toBe('default/shop:m1:c1');
  });

  it('are read back as they were written', () => {
    fc.assert(
      fc.property(id, id, id, id, (tenantId, applicationId, metadataVersion, codeVersion) => {
        const definition = { tenantId, applicationId, metadataVersion, codeVersion };
        expect(parseFullKey(fullKey(definition))).toEqual(definition);
      }),
    );
  });

  it('let two code versions share a job host, but neither two tenants nor two metadata versions', () => {
    expect(canShareJobHost(shop, { ...shop, codeVersion: 'c2' })).toBe(true);
    expect(canShareJobHost(shop, { ...shop, metadataVersion: 'm2' })).toBe(false);
    expect(canShareJobHost(shop, { ...shop, tenantId: 'other' })).toBe(false);
  });

  it.each(['', 'shop', 'a/b:c', 'a/b:c:d:e', 'a/b/c:d:e', 'a/b:c:', '/b:c:d', 'a/..:c:d', 'a/b:c:d\n'])(
    'refuse "%s"',
    (text) => {
      expect(() => parseFullKey(text)).toThrow(/is not good/);
    },
  );

  it('say which part is not good', () => {
    expect(() => checkApplicationDefinition({ ...shop, applicationId: 'my app' })).toThrow('application id "my app"');
  });
});
