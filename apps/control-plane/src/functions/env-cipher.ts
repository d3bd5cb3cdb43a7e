import type { TenantId } from '@drover/contracts';
import { SealingKey, secretText, type Randomness, type Secret, type UnsealProblem } from '@drover/service-kit';
import { envNeedsKey, envUnreadable, secretsKeyTooShort } from './errors.js';

/** The function that owns the variables. It is authenticated data: ciphertext copied to another row does not decrypt there. */
export interface EnvOwner {
  readonly tenantId: TenantId;
  readonly name: string;
  readonly generation: number;
}

const leastCharacters = 16;
const reasons: Readonly<Record<UnsealProblem, string>> = {
  'unknown-format': 'the stored value has an unknown format; it was written by a newer release',
  'another-key': 'they were encrypted with another key than DROVER_SECRETS_KEY',
  changed: 'the stored value was changed or belongs to another function',
};

/** Encrypts and decrypts the variables of functions. */
export class EnvCipher {
  readonly #key: SealingKey | undefined;

  constructor(key: Secret | undefined, randomness: Randomness) {
    if (key && secretText(key).length < leastCharacters) throw secretsKeyTooShort({ leastCharacters });
    this.#key = key && new SealingKey(key, 'drover function env', randomness);
  }

  get hasKey(): boolean {
    return this.#key !== undefined;
  }

  seal(owner: EnvOwner, env: Readonly<Record<string, string>>): Buffer {
    if (!this.#key) throw envNeedsKey({ name: owner.name });
    return this.#key.seal(partsOf(owner), JSON.stringify(env));
  }

  open(owner: EnvOwner, sealed: Buffer): ReadonlyMap<string, string> {
    const { tenantId, name } = owner;
    const fail = (reason: string, cause?: unknown): Error => envUnreadable({ tenantId, name, reason }, cause);
    if (!this.#key) throw fail('DROVER_SECRETS_KEY is not set');
    const opened = this.#key.unseal(partsOf(owner), sealed);
    if ('problem' in opened) throw fail(reasons[opened.problem], opened.cause);
    return new Map(Object.entries(JSON.parse(opened.text) as Record<string, string>)); // authenticated: we wrote it
  }
}

function partsOf({ tenantId, name, generation }: EnvOwner): readonly unknown[] {
  return [tenantId, name, generation];
}
