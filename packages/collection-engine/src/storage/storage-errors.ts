import { defineError } from '@drover/contracts';

export const patternIndexUnavailable = defineError<{ reason: string }>('COLLECTION_PATTERN_INDEX_UNAVAILABLE', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `Fields with "patternIndexed" need the extension pg_trgm, which PostgreSQL does not provide (${d.reason}). Have an administrator run "create extension pg_trgm" in the database, or remove "patternIndexed".`,
  help: 'The PostgreSQL server lacks the extension pg_trgm (package postgresql-contrib), or the user of the platform may not create it. Create it in the database, or remove `patternIndexed` from the fields.',
});

export const storageErrors = [patternIndexUnavailable];
