import { hasCode, type CollectionDefinition } from '@drover/contracts';
import type { Queryable } from '@drover/database';
import { patternIndexUnavailable } from './storage-errors.js';

/** Of all distributions of PostgreSQL, and the only one that indexes parts of texts. */
const extension = 'pg_trgm';

/**
 * Creates the extension that indexes of `patternIndexed` fields need, if a definition has such a field. Not part of a transaction: it
 * stays, and a refusal must not abort anything. Throws COLLECTION_PATTERN_INDEX_UNAVAILABLE.
 */
export async function requirePatternIndexes(
  database: Queryable,
  definitions: readonly Pick<CollectionDefinition, 'fields'>[],
): Promise<void> {
  if (!definitions.some(({ fields }) => fields.some(({ patternIndexed }) => patternIndexed === true))) return;
  const isThere = async (): Promise<boolean> =>
    (await database.query('select from pg_extension where extname = $1', [extension])).length > 0;
  if (await isThere()) return;
  try {
    await database.query(`create extension if not exists ${extension} with schema public`);
  } catch (error) {
    if (hasCode(error, 'DATABASE_UNAVAILABLE')) throw error;
    // Another request may have created it at the same moment.
    if (await isThere()) return;
    throw patternIndexUnavailable({ reason: error instanceof Error ? error.message : String(error) }, error);
  }
}
