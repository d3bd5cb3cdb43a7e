import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { TenantId } from '@drover/contracts';
import type { Randomness, Secret } from '@drover/service-kit';
import { envNeedsKey, envUnreadable, secretsKeyTooShort } from './errors.js';

/** The function that owns the variables. It is authenticated data: ciphertext copied to another row does not decrypt there. */
export interface EnvOwner {
  readonly tenantId: TenantId;
  readonly name: string;
  readonly generation: number;
}

const algorithm = 'aes-256-gcm';
/** Layout: version, key fingerprint, nonce, tag, ciphertext. */
const version = 1;
const markBytes = 8;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + markBytes + nonceBytes + tagBytes;
const leastCharacters = 16;

/**
 * Encrypts and decrypts the variables of functions. One key serves all functions: nonces are random, and 2^32 registrations
 * stay below AES-GCM's bound. The fingerprint of the key tells a wrong key from tampered ciphertext.
 */
export class EnvCipher {
  readonly #key: Buffer | undefined;
  readonly #mark: Buffer;
  readonly #randomness: Randomness;

  constructor(key: Secret | undefined, randomness: Randomness) {
    // A key that was read from a file may end with a line break.
    const text = key?.reveal().trim() ?? '';
    if (key && text.length < leastCharacters) throw secretsKeyTooShort({ leastCharacters });
    this.#key = key && derive(text, 'drover function env', 32);
    this.#mark = derive(text, 'drover function env, mark of the key', markBytes);
    this.#randomness = randomness;
  }

  get hasKey(): boolean {
    return this.#key !== undefined;
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
    if (sealed.length < headBytes || sealed[0] !== version)
      throw fail('the stored value has an unknown format; it was written by a newer release');
    if (!sealed.subarray(1, 1 + markBytes).equals(this.#mark))
      throw fail('they were encrypted with another key than DROVER_SECRETS_KEY');
    const nonceEnd = 1 + markBytes + nonceBytes;
    const nonce = sealed.subarray(1 + markBytes, nonceEnd);
    try {
      const decipher = createDecipheriv(algorithm, this.#key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(nameOf(owner));
      decipher.setAuthTag(sealed.subarray(nonceEnd, headBytes));
      const text = Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]).toString('utf8');
      return new Map(Object.entries(JSON.parse(text) as Record<string, string>)); // authenticated: we wrote it
    } catch (error) {
      throw fail('the stored value was changed or belongs to another function', error);
    }
  }
}

function derive(text: string, purpose: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', text, '', purpose, length));
}

/** JSON keeps the encodings of two different owners different. */
function nameOf({ tenantId, name, generation }: EnvOwner): Buffer {
  return Buffer.from(JSON.stringify([tenantId, name, generation]));
}
