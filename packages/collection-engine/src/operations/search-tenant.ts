import type { CollectionModel } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import { parseRecordQuery } from '../parse/parse-query.js';
import { queryProblem } from '../parse/query-problem.js';
import { planSearch } from '../plan/plan-list.js';
import { integerCode } from '../plan/plan-order.js';
import { from, visibleRows } from '../plan/planning.js';
import type { TenantOperation } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { listAnswer } from '../respond/documents.js';
import { constant, join, sql, type Sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
import { searchDocument } from '../storage/search-document.js';
import type { CollectionStore } from '../store/collection-store.js';
import { runQuery } from './run-query.js';

const defaultLimit = 20;
const mostFound = 100;

/** GET /api/_search?q=words: the records of all collections that the caller may read, the best first. */
export function searchTenantWith(store: Pick<CollectionStore, 'list'>): TenantOperation {
  return async (context, { path, query }, dependencies) => {
    const { own } = parseRecordQuery(query, { takes: [], own: ['q', 'limit'] }, context.limits);
    const words = own.get('q') ?? '';
    if (words.trim() === '') throw queryProblem('q', 'INVALID_VALUE', 'Send the words to search for as "q".');
    const limit = limitOf(own.get('limit'));
    const models = (await store.list(context.tenantId))
      .map((stored) => compileCollection(stored))
      .filter((model) => context.access.mayRead(model) && model.api.list && searchDocument(model, sql`t`));
    const [row] =
      models.length === 0
        ? []
        : await runQuery<{ data: string | null }>(dependencies, searchStatement(context, models, words, limit), 'q');
    return listAnswer(context.shape, {
      data: row?.data ?? null,
      included: undefined,
      links: { self: `${path}?${query}` },
      meta: { pageSize: limit, hasMore: false },
    });
  };
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return defaultLimit;
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : Infinity;
  if (limit > mostFound)
    throw queryProblem('limit', 'INVALID_VALUE', `Send a "limit" from 1 to ${mostFound}, not "${text.slice(0, 20)}".`);
  return limit;
}

/** The best records of each collection, and of these the best: identifiers with a text to show and how well they fit. */
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
  const found = sql`select f.* from (${join(each, sql` union all `)}) as f ${most}`;
  const record =
    context.shape === 'flat'
      ? sql`row_to_json(f)`
      : sql`json_build_object('type', f.type, 'id', f.id, 'meta', json_build_object('display', f.display, 'rank', f.rank))`;
  return sql`select string_agg(${record}::text, ',') as data from (${found}) as f`;
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
