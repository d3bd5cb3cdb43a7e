import { hash, timingSafeEqual } from 'node:crypto';
import type { ApiKeyId } from '@drover/contracts';
import { Secret, type Randomness } from '@drover/service-kit';

/** A parsed API key, `drv_<id>_<secret>`: the id selects the row, the digest of the secret proves possession. */
export interface ParsedApiKey {
  readonly id: ApiKeyId;
  readonly digest: Buffer;
}

const pattern = /^drv_([a-f0-9]{16})_([A-Za-z0-9_-]{43})$/;

export function parseApiKey(text: string): ParsedApiKey | undefined {
  const [, id, secret] = pattern.exec(text) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  return { id: id as ApiKeyId, digest: digestOf(secret) }; // the pattern is what makes it one
}

/** Creates a key with a secret of 256 random bits. */
export function newApiKey(randomness: Randomness): { readonly text: Secret; readonly parsed: ParsedApiKey } {
  const id = randomness.bytes(8).toString('hex') as ApiKeyId; // the right alphabet and length
  const secret = randomness.bytes(32).toString('base64url');
  return { text: new Secret(`drv_${id}_${secret}`), parsed: { id, digest: digestOf(secret) } };
}

/** Compares in constant time. */
export function sameDigest(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
