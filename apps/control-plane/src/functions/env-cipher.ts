import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { TenantId } from '@drover/contracts';
import type { Randomness, Secret } from '@drover/service-kit';
import { envNeedsKey, envUnreadable, secretsKeyTooShort } from './errors.js';

/** Whose variables they are. Part of what is authenticated: sealed bytes copied to another row do not open there. */
export interface EnvOwner {
  readonly tenantId: TenantId;
  readonly name: string;
  readonly generation: number;
}

const algorithm = 'aes-256-gcm';
/** Of the layout: version, mark of the key, nonce, tag, ciphertext. */
const version = 1;
const markBytes = 8;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + markBytes + nonceBytes + tagBytes;
const leastCharacters = 16;

/**
 * Seals the variables of functions, and opens them. One key for all of them: nonces are random, and 2^32 registrations
 * under one key are more than there will be. The mark tells a wrong key from bytes that somebody has changed.
 */
export class EnvCipher {
  readonly #key: Buffer | undefined;
  readonly #mark: Buffer;
  readonly #randomness: Randomness;

  constructor(key: Secret | undefined, randomness: Randomness) {
    // Whether it comes from a file or not, a line break at its end is not part of it.
    const text = key?.reveal().trim() ?? '';
    if (key && text.length < leastCharacters) throw secretsKeyTooShort({ leastCharacters });
    this.#key = key && derive(text, 'drover function env', 32);
    this.#mark = derive(text, 'drover function env, mark of the key', markBytes);
    this.#randomness = randomness;
  }

  seal(owner: EnvOwner, env: Readonly<Record<string, string>>): Buffer {
    if (!this.#key) throw envNeedsKey({ name: owner.name });
    const nonce = this.#randomness.bytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(nameOf(owner));
    const sealed = Buffer.concat([cipher.update(JSON.stringify(env), 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(version), this.#mark, nonce, cipher.getAuthTag(), sealed]);
  }

  open(owner: EnvOwner, sealed: Buffer): ReadonlyMap<string, string> {
    const { tenantId, name } = owner;
    const fail = (reason: string, cause?: unknown): Error => envUnreadable({ tenantId, name, reason }, cause);
    if (!this.#key) throw fail('DROVER_SECRETS_KEY is not set');
    if (sealed.length < headBytes || sealed[0] !== version) throw fail('what is stored has a form nobody here knows');
    if (!sealed.subarray(1, 1 + markBytes).equals(this.#mark))
      throw fail('they were sealed with another key than the one in DROVER_SECRETS_KEY');
    const nonceEnd = 1 + markBytes + nonceBytes;
    const nonce = sealed.subarray(1 + markBytes, nonceEnd);
    try {
      const decipher = createDecipheriv(algorithm, this.#key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(nameOf(owner));
      decipher.setAuthTag(sealed.subarray(nonceEnd, headBytes));
      const text = Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]).toString('utf8');
      return new Map(Object.entries(JSON.parse(text) as Record<string, string>)); // authenticated: we wrote it
    } catch (error) {
      throw fail('what is stored was changed, or belongs to another function', error);
    }
  }
}

function derive(text: string, purpose: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', text, '', purpose, length));
}

/** As JSON, so that no two owners have the same name. */
function nameOf({ tenantId, name, generation }: EnvOwner): Buffer {
  return Buffer.from(JSON.stringify([tenantId, name, generation]));
}
