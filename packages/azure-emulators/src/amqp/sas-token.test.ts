import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkSharedAccessSignature } from './sas-token.js';

const keys = new Map([['root', 'c2VjcmV0']]);

function token(key: string, expirySeconds: number, name = 'root'): string {
  const audience = encodeURIComponent('sb://localhost:5672/orders');
  const signature = createHmac('sha256', key).update(`${audience}\n${expirySeconds}`).digest('base64');
  return `SharedAccessSignature sr=${audience}&sig=${encodeURIComponent(signature)}&se=${expirySeconds}&skn=${name}`;
}

describe('checkSharedAccessSignature', () => {
  it('accepts a token signed with the key, until it expires', () => {
    expect(checkSharedAccessSignature(token('c2VjcmV0', 100), keys, 99_999)).toEqual({
      valid: true,
      expiresAtMs: 100_000,
    });
    expect(checkSharedAccessSignature(token('c2VjcmV0', 100), keys, 100_000).valid).toBe(false);
  });

  it('refuses another key, an unknown name, and anything that is no signature', () => {
    expect(checkSharedAccessSignature(token('other', 100), keys, 0).valid).toBe(false);
    expect(checkSharedAccessSignature(token('c2VjcmV0', 100, 'other'), keys, 0).valid).toBe(false);
    expect(checkSharedAccessSignature('Bearer abc', keys, 0).valid).toBe(false);
    expect(checkSharedAccessSignature('SharedAccessSignature sr=a&sig=b', keys, 0).valid).toBe(false);
    expect(checkSharedAccessSignature('SharedAccessSignature sr=a&sig=%&se=1&skn=root', keys, 0).valid).toBe(false);
  });
});
