import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import type { Secret } from './secret.js';
import type { Randomness } from './time/randomness.js';

const algorithm = 'aes-256-gcm';
/** Layout: version, key fingerprint, nonce, tag, ciphertext. */
const version = 1;
const markBytes = 8;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + markBytes + nonceBytes + tagBytes;

/** Why a sealed text cannot be opened. */
export type UnsealProblem = 'unknown-format' | 'another-key' | 'changed';
export type Unsealed = { readonly text: string } | { readonly problem: UnsealProblem; readonly cause?: unknown };

/**
 * Encrypts texts at rest with a key that is derived from a secret for one purpose. One key serves many texts: nonces are random, and
 * 2^32 of them stay below the bound of AES-GCM. The fingerprint of the key tells a wrong key from a changed ciphertext.
 */
export class SealingKey {
  readonly #key: Buffer;
  readonly #mark: Buffer;
  readonly #randomness: Pick<Randomness, 'bytes'>;

  /** `purpose` separates keys that are derived from the same secret; never change it for stored texts. */
  constructor(secret: Secret, purpose: string, randomness: Pick<Randomness, 'bytes'>) {
    const text = secretText(secret);
    this.#key = derive(text, purpose, 32);
    this.#mark = derive(text, `${purpose}, mark of the key`, markBytes);
    this.#randomness = randomness;
  }

  /** `owner` is authenticated: a ciphertext that was copied to another owner does not open there. */
  seal(owner: readonly unknown[], text: string): Buffer {
    const nonce = this.#randomness.bytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(encode(owner));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(version), this.#mark, nonce, cipher.getAuthTag(), sealed]);
  }

  unseal(owner: readonly unknown[], sealed: Buffer): Unsealed {
    if (sealed.length < headBytes || sealed[0] !== version) return { problem: 'unknown-format' };
    if (!sealed.subarray(1, 1 + markBytes).equals(this.#mark)) return { problem: 'another-key' };
    const nonceEnd = 1 + markBytes + nonceBytes;
    try {
      const nonce = sealed.subarray(1 + markBytes, nonceEnd);
      const decipher = createDecipheriv(algorithm, this.#key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(encode(owner));
      decipher.setAuthTag(sealed.subarray(nonceEnd, headBytes));
      return { text: Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]).toString('utf8') };
    } catch (cause) {
      return { problem: 'changed', cause };
    }
  }

  /** Hashes a text so that it cannot be guessed from the hash without the key: for identifiers that are shown. */
  fingerprint(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex');
  }
}

/** Characters of a secret, without the line break that a file may end with. */
export function secretText(secret: Secret): string {
  return secret.reveal().trim();
}

function derive(text: string, purpose: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', text, '', purpose, length));
}

/** JSON keeps the encodings of two different owners different. */
function encode(owner: readonly unknown[]): Buffer {
  return Buffer.from(JSON.stringify(owner));
}
