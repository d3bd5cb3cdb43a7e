import { inspect } from 'node:util';
import { systemRandomness } from '@drover/service-kit';
import { seededRandomness } from '@drover/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newApiKey, parseApiKey, sameDigest } from './api-key-format.js';

const key = newApiKey(seededRandomness(7));
const text = key.text.reveal();
const secret = text.slice(-43);

describe('an API key', () => {
  it('comes back from its text as the same id and digest, whatever the randomness', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const { text, parsed } = newApiKey(seededRandomness(seed));
        expect(text.reveal()).toMatch(/^drv_[a-f0-9]{16}_[\w-]{43}$/);
        expect(parseApiKey(text.reveal())).toEqual(parsed);
      }),
    );
  });

  it('has 256 bits that nobody else has', () => {
    const made = Array.from({ length: 1_000 }, () => newApiKey(systemRandomness));
    expect(new Set(made.map(({ parsed }) => parsed.id)).size).toBe(1_000);
    expect(new Set(made.map(({ text }) => text.reveal().slice(-43))).size).toBe(1_000);
    expect(Buffer.from(made[0]?.text.reveal().slice(-43) ?? '', 'base64url')).toHaveLength(32);
  });

  it('shows its secret only when asked for it', () => {
    for (const shown of [String(key.text), JSON.stringify(key), inspect(key, { depth: 9 }), key.text.toString()])
      expect(shown).not.toContain(secret);
  });

  it.each([
    ['nothing', ''],
    ['another prefix', text.replace('drv_', 'dvr_')],
    ['a prefix in capitals', text.replace('drv_', 'DRV_')],
    ['an id in capitals', text.replace(/_[a-f0-9]{16}_/, '_ABCDEF0123456789_')],
    ['an id that is short', text.replace(/^drv_./, 'drv_')],
    ['a secret that is short', text.slice(0, -1)],
    ['a secret that is long', `${text}A`],
    ['a foreign letter in the secret', `${text.slice(0, -1)}+`],
    ['a line break after it', `${text}\n`],
    ['a space before it', ` ${text}`],
    ['a second line', `x\n${text}`],
    ['only the secret', secret],
  ])('is refused with %s', (_, wrong) => {
    expect(parseApiKey(wrong)).toBeUndefined();
  });

  it('is never found in arbitrary text, and looking for it never fails', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary-ascii' }),
          fc.string().map((tail) => `drv_${tail}`),
        ),
        (wrong) => {
          expect(parseApiKey(wrong)).toBeUndefined();
        },
      ),
    );
  });

  it('is another one when a single character of the secret differs', () => {
    const flipped = `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`;
    const other = parseApiKey(flipped);
    expect(other?.id).toBe(key.parsed.id);
    expect(sameDigest(other?.digest ?? Buffer.alloc(0), key.parsed.digest)).toBe(false);
  });
});

describe('sameDigest', () => {
  it('compares content, and takes another length for a difference rather than an error', () => {
    expect(sameDigest(Buffer.from('ab'), Buffer.from('ab'))).toBe(true);
    expect(sameDigest(Buffer.from('ab'), Buffer.from('ac'))).toBe(false);
    expect(sameDigest(Buffer.from('ab'), Buffer.from('abc'))).toBe(false);
  });
});
