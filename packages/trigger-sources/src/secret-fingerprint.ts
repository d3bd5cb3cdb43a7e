import { createHash } from 'node:crypto';
import type { Secret } from '@drover/service-kit';

/** Distinguishes secrets without revealing them: clients of one address are shared only by those that have the same credentials. */
export function secretFingerprint(...secrets: readonly Secret[]): string {
  const hash = createHash('sha256');
  for (const secret of secrets) hash.update(`${secret.reveal()}\n`);
  return hash.digest('base64url').slice(0, 16);
}
