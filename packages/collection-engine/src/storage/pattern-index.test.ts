import type { CollectionDefinition } from '@drover/contracts';
import type { Queryable } from '@drover/database';
import { describe, expect, it } from 'vitest';
import { requirePatternIndexes } from './pattern-index.js';

const definition: Pick<CollectionDefinition, 'fields'> = {
  fields: [{ name: 'note', type: 'TEXT', patternIndexed: true }],
};

/** A server that answers as one without the package of extensions does; `created` by another request after so many questions. */
function serverWithout(createdAfter = Number.POSITIVE_INFINITY): Queryable & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    query: async <R extends object>(statement: unknown): Promise<R[]> => {
      asked.push(String(statement));
      if (String(statement).startsWith('select')) return asked.length > createdAfter ? [{} as R] : [];
      throw Object.assign(new Error('extension "pg_trgm" is not available'), { code: '0A000' });
    },
  };
}

describe('a definition with patternIndexed', () => {
  it('is refused with what to do if PostgreSQL has no such index', async () => {
    await expect(requirePatternIndexes(serverWithout(), [definition])).rejects.toMatchObject({
      code: 'COLLECTION_PATTERN_INDEX_UNAVAILABLE',
      message: expect.stringMatching(/"pg_trgm" is not available.*create extension pg_trgm.*remove "patternIndexed"/),
    });
  });

  it('is accepted if another request has created the extension meanwhile', async () => {
    await expect(requirePatternIndexes(serverWithout(1), [definition])).resolves.toBeUndefined();
  });

  it('alone asks for the extension', async () => {
    const server = serverWithout();
    await requirePatternIndexes(server, [{ fields: [{ name: 'note', type: 'TEXT' }] }]);
    expect(server.asked).toEqual([]);
  });
});
