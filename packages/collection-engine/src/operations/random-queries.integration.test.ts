import { storageModes } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectionTestSchema, createCollectionTables, testCollection } from '../testing/collection-tables.js';
import { callOperation, testDependencies } from '../testing/record-requests.js';
import { insertRows } from '../testing/record-rows.js';
import { aggregateRecords } from './aggregate-records.js';
import { listRecords } from './list-records.js';
import { naiveResult } from './naive-evaluation.test.fixture.js';
import { inMode, randomQueries, randomWorlds, toQueryString } from './random-queries.test.fixture.js';

let server: TestDatabase;
let database: Database;
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect();
});
afterAll(() => server.drop());

interface Page {
  readonly data: readonly { readonly id: string; readonly count: number }[];
  readonly links: { readonly next?: string };
}

describe.each(storageModes)('random queries over random collections in storage mode %s', (mode) => {
  it('find what a naive evaluation finds, in its order, page by page', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        randomWorlds.chain((world) =>
          fc.tuple(fc.constant(world), fc.array(randomQueries(world), { minLength: 20, maxLength: 20 })),
        ),
        async ([world, queries]) => {
          run += 1;
          const tenantId = `${mode}-${run}`;
          const to = testCollection(inMode(world.to.definition, mode), { tenantId });
          const from = testCollection(inMode(world.from.definition, mode), { tenantId });
          for (const each of [to, from]) await createCollectionTables(database, each);
          await insertRows(database, to, world.to.records);
          await insertRows(database, from, world.from.records);
          const dependencies = testDependencies(database, [from, to]);
          const context = { tenantId };
          for (const query of queries) {
            const model = query.root === 'from' ? from : to;
            const expected = naiveResult(world, query);
            const found: string[] = [];
            let pages = 0;
            for (let next: string | undefined = toQueryString(query); next !== undefined && pages <= 26; pages += 1) {
              const { body } = await callOperation(listRecords, model, dependencies, { query: next, context });
              found.push(...(body as Page).data.map(({ id }) => id));
              next = (body as Page).links.next?.replace(/^[^?]*\?/, '');
            }
            expect(found).toEqual(expected);
            const counted = await callOperation(aggregateRecords, model, dependencies, {
              query: toQueryString({ ...query, sort: [] }),
              context,
            });
            expect((counted.body as Page).data).toEqual([{ count: expected.length }]);
          }
        },
      ),
      { numRuns: 5, endOnFailure: true },
    );
  });
});
