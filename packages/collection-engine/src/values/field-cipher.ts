import { BoundedMap, SealingKey, type Randomness, type Secret } from '@drover/service-kit';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, sql, type Sql } from '../sql/sql.js';
import { encryptedFieldNeedsKey, encryptedFieldUnreadable } from './value-errors.js';

const maxTenants = 1_000;
const marker = 'drover:sealed:';
const sealedTexts = /"drover:sealed:([0-9a-f-]{36}):([^":\\]+):([0-9a-f]+)"/g;

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

  /**
   * Replaces all marked ciphertexts of `sealedExpression` in a JSON text by their values. A text that only looks like one stays as it
   * is: a client may have written it. Throws ENCRYPTED_FIELD_UNREADABLE for the ciphertext of another key.
   */
  openAll(tenantId: string, json: string): string {
    if (!json.includes(marker)) return json;
    return json.replaceAll(sealedTexts, (marked, collectionId: string, column: string, hex: string) => {
      const opened = this.#keyOf(tenantId)?.unseal([collectionId, column], Buffer.from(hex, 'hex'));
      if (opened === undefined) throw encryptedFieldUnreadable({ column, reason: 'DROVER_SECRETS_KEY is not set' });
      if ('text' in opened) return JSON.stringify(opened.text);
      if (opened.problem !== 'another-key') return marked;
      throw encryptedFieldUnreadable({
        column,
        reason: 'it was encrypted with another key than DROVER_SECRETS_KEY',
      });
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

/** Returns the text that stands for the value of an ENCRYPTED field in the JSON of a record until `FieldCipher.openAll` opens it. */
export function sealedExpression(collection: CollectionModel, field: FieldModel, alias: Sql): Sql {
  const hex =
    collection.storageMode === 'PHYSICAL_TABLE'
      ? sql`encode(${alias}.${identifier(field.column)}, 'hex')`
      : sql`substr(${alias}.data ->> ${constant(field.column)}, 3)`;
  return sql`(${constant(sealedMarker(collection, field))} || ${hex})`;
}

/** What precedes the hexadecimal ciphertext of a field in that text. */
export const sealedMarker = ({ id }: Pick<CollectionModel, 'id'>, { column }: Pick<FieldModel, 'column'>): string =>
  `${marker}${id}:${column}:`;
