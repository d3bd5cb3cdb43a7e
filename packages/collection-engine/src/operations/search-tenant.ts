import { BoundedMap } from '@drover/service-kit';
import type { CollectionModel, StoredCollection } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import { parseRecordQuery } from '../parse/parse-query.js';
import { queryProblem } from '../parse/query-problem.js';
import { planSearch } from '../plan/plan-list.js';
import { integerCode } from '../plan/plan-order.js';
import { from, visibleRows } from '../plan/planning.js';
import type { TenantOperation } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { listAnswer } from '../respond/documents.js';
import { constant, join, parameter, sql, type Sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
import { searchDocument } from '../storage/search-document.js';
import type { CollectionStore } from '../store/collection-store.js';
import { runQuery } from './run-query.js';

const defaultLimit = 20;
const mostFound = 100;

/** Fields of all collections that searches have in memory. */
const maxFields = 100_000;

/** The collections of a tenant, and their versions as the statement of a search returns them. */
interface KnownCollections {
  readonly models: readonly CollectionModel[];
  readonly versions: string | null;
}

interface SearchRow {
  readonly data: string | null;
  readonly versions: string | null;
}

/**
 * GET /api/_search?q=words: the records of all collections that the caller may read, the best first. The statement is made of the
 * collections of the search before, and returns the versions that are current. Only if they differ, the collections are read and
 * the search runs again: a collection is found as soon as its definition is confirmed, in one round trip.
 */
export function searchTenantWith(store: Pick<CollectionStore, 'list'>): TenantOperation {
  const known = new BoundedMap<string, KnownCollections>({
    maxWeight: maxFields,
    weigh: ({ models }) => models.reduce((sum, { fields }) => sum + fields.size + 1, 1),
    whenFull: 'evict-unused',
  });
  return async (context, { path, query }, dependencies) => {
    const { own } = parseRecordQuery(query, { takes: [], own: ['q', 'limit'] }, context.limits);
    const words = own.get('q') ?? '';
    if (words.trim() === '') throw queryProblem('q', 'INVALID_VALUE', 'Send the words to search for as "q".');
    const limit = limitOf(own.get('limit'));
    const search = async ({ models }: KnownCollections): Promise<SearchRow | undefined> => {
      const searched = models.filter(
        (model) => context.access.mayRead(model) && model.api.list && searchDocument(model, sql`t`),
      );
      const [row] = await runQuery<SearchRow>(dependencies, searchStatement(context, searched, words, limit), 'q');
      return row;
    };
    const before = known.get(context.tenantId);
    let row = before && (await search(before).catch(rethrowUnlessOutdated));
    if (!row || row.versions !== before?.versions) {
      const current = toKnown(await store.list(context.tenantId));
      known.set(context.tenantId, current);
      row = await search(current);
    }
    return listAnswer(context.shape, {
      data: row?.data ?? null,
      included: undefined,
      links: { self: `${path}?${query}` },
      meta: { pageSize: limit, hasMore: false },
    });
  };
}

/** A statement of outdated definitions may fail, for a table, a column or a type that is another by now: classes 42 and 0A. */
function rethrowUnlessOutdated(error: unknown): undefined {
  const state = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!/^(?:42|0A)\w{3}$/.test(state)) throw error;
}

function toKnown(stored: readonly StoredCollection[]): KnownCollections {
  const versions = stored.map(({ id, version }) => `${id}@${version}`).toSorted();
  return { models: stored.map((each) => compileCollection(each)), versions: versions.join() || null };
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return defaultLimit;
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : Infinity;
  if (limit > mostFound)
    throw queryProblem('limit', 'INVALID_VALUE', `Send a "limit" from 1 to ${mostFound}, not "${text.slice(0, 20)}".`);
  return limit;
}

/** The best records of each collection, and of these the best: identifiers with a text to show and how well they fit. One row, always. */
function searchStatement(
  context: RecordContext,
  models: readonly CollectionModel[],
  words: string,
  limit: number,
): Sql {
  const t = sql`t`;
  const most = sql`order by rank desc, id limit ${integerCode(limit)}`;
  const each = models.map((model) => {
    const { matches, relevance } = planSearch({ model, computed: new Map() }, words);
    return sql`(select ${constant(model.name)} as type, t.id, left(${displayOf(model, t)}, 200) as display, ${relevance.expression(t)} as rank from ${from({ model, computed: new Map() }, t)} where ${visibleRows(t, context)} and ${matches(t)} ${most})`;
  });
  const versions = sql`(select string_agg(c.id || '@' || c.version, ',' order by c.id) from drover.collections as c where c.tenant_id = ${parameter(context.tenantId)})`;
  if (each.length === 0) return sql`select null::text as data, ${versions} as versions`;
  const found = sql`select f.* from (${join(each, sql` union all `)}) as f ${most}`;
  const record =
    context.shape === 'flat'
      ? sql`row_to_json(f)`
      : sql`json_build_object('type', f.type, 'id', f.id, 'meta', json_build_object('display', f.display, 'rank', f.rank))`;
  return sql`select string_agg(${record}::text, ',') as data, ${versions} as versions from (${found}) as f`;
}

/** The display field of the collection, or its first searchable one. */
function displayOf(model: CollectionModel, alias: Sql): Sql {
  const fields = [...model.fields.values()];
  const field =
    model.fields.get(model.displayField ?? '') ?? fields.find(({ definition }) => definition.searchable === true);
  if (!field || field.traits.kind !== 'text' || field.traits.column === undefined || field.type === 'ENCRYPTED')
    return sql`null::text`;
  return fieldExpression(model, field, alias);
}
