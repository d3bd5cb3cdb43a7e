import { BoundedMap, SealingKey, type Randomness, type Secret } from '@drover/service-kit';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, sql, type Sql } from '../sql/sql.js';
import { encryptedFieldNeedsKey, encryptedFieldUnreadable } from './value-errors.js';

const maxTenants = 1_000;
/**
 * Begins the JSON text of an encrypted value. PostgreSQL never escapes a slash in JSON that it writes, so no text of a client can look
 * like it, whatever it holds.
 */
const marker = String.raw`"drover\/sealed:`;
const sealedTexts = /"drover\\\/sealed:([0-9a-f-]{36}):([^":\\]+):([0-9a-f]+)"/g;

/**
 * Encrypts values of ENCRYPTED fields at rest with AES-256-GCM, under a key per tenant that is derived from the key of the platform.
 * A ciphertext that was copied to another field does not open there. PostgreSQL cannot open them: it writes a marked text into the
 * JSON of a record, and `openAll` puts the value in its place.
 */
export class FieldCipher {
  readonly #secret: Secret | undefined;
  readonly #randomness: Pick<Randomness, 'bytes'>;
  readonly #keys = new BoundedMap<string, SealingKey>({ maxWeight: maxTenants, whenFull: 'evict-unused' });

  constructor(secret: Secret | undefined, randomness: Pick<Randomness, 'bytes'>) {
    this.#secret = secret;
    this.#randomness = randomness;
  }

  /** Returns the ciphertext in the hex format of BYTEA. Throws ENCRYPTED_FIELD_NEEDS_KEY. */
  seal({ tenantId, id }: Pick<CollectionModel, 'tenantId' | 'id'>, field: FieldModel, text: string): string {
    const key = this.#keyOf(tenantId);
    if (!key) throw encryptedFieldNeedsKey({ field: field.name });
    return `\\x${key.seal([id, field.column], text).toString('hex')}`;
  }

  /** Replaces all marked ciphertexts of `sealedJson` in a JSON text by their values. Throws ENCRYPTED_FIELD_UNREADABLE. */
  openAll(tenantId: string, json: string): string {
    if (!json.includes(marker)) return json;
    return json.replaceAll(sealedTexts, (_, collectionId: string, column: string, hex: string) => {
      const opened = this.#keyOf(tenantId)?.unseal([collectionId, column], Buffer.from(hex, 'hex'));
      if (opened === undefined) throw encryptedFieldUnreadable({ column, reason: 'DROVER_SECRETS_KEY is not set' });
      if ('text' in opened) return JSON.stringify(opened.text);
      throw encryptedFieldUnreadable({ column, reason: unreadableBecause[opened.problem] }, opened.cause);
    });
  }

  #keyOf(tenantId: string): SealingKey | undefined {
    if (!this.#secret) return undefined;
    const known = this.#keys.get(tenantId);
    if (known) return known;
    const key = new SealingKey(this.#secret, `drover encrypted fields of tenant ${tenantId}`, this.#randomness);
    this.#keys.set(tenantId, key);
    return key;
  }
}

const unreadableBecause = {
  'another-key': 'it was encrypted with another key than DROVER_SECRETS_KEY',
  changed: 'it was changed, or copied from another field, since it was encrypted',
  'unknown-format': 'it has a format that this version does not know',
} as const;

/** Returns the JSON that stands for the value of an ENCRYPTED field of the row `alias` until `FieldCipher.openAll` opens it. */
export function sealedExpression(collection: CollectionModel, field: FieldModel, alias: Sql): Sql {
  const hex =
    collection.storageMode === 'PHYSICAL_TABLE'
      ? sql`encode(${alias}.${identifier(field.column)}, 'hex')`
      : sql`substr(${alias}.data ->> ${constant(field.column)}, 3)`;
  return sealedJson(collection, field, hex);
}

/** Returns the same for a ciphertext in hexadecimal digits. Of the type `json`, which keeps the mark as it is written; `jsonb` would not. */
export function sealedJson({ id }: Pick<CollectionModel, 'id'>, { column }: Pick<FieldModel, 'column'>, hex: Sql): Sql {
  return sql`(${constant(`${marker}${id}:${column}:`)} || ${hex} || '"')::json`;
}
