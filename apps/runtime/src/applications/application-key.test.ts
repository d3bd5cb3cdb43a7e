import { describe, expect, it } from 'vitest';
import { fullKey, jobHostKey } from './application-key.js';

const shop = { tenantId: 'default', applicationId: 'shop', metadataVersion: 'm1', codeVersion: 'c1' };

describe('application keys', () => {
  it('name tenant, application, metadata and code', () => {
    expect(jobHostKey(shop)).toBe('default/shop:m1');
    expect(fullKey(shop)).toBe('default/shop:m1:c1');
  });
});
