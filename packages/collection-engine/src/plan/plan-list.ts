import type { CollectionModel } from '../model/collection-model.js';
import type { RecordQuery } from '../parse/parse-query.js';
import { queryProblem } from '../parse/query-problem.js';
import type { ParentRecord } from '../request/record-operation.js';
import { recordNotFound } from '../request/request-errors.js';
import { parameter, sql, type Sql } from '../sql/sql.js';
import { searchDocument } from '../storage/search-document.js';
import { isUuid } from './filter-value.js';
import type { ListPlan } from './list-statement.js';
import type { Operand } from './operand.js';
import { planFilter } from './plan-filter.js';
import { planOrder } from './plan-order.js';
import { planFields, planIncludes } from './plan-view.js';
import type { PlannedCollection, Planning } from './planning.js';

/** Numbered pages come with a total; records beyond this number are not counted unless the request says `count=exact`. */
const mostCounted = 10_000;

/** Resolves a list: names, access, values. Nothing has been read of the records. */
export async function planList(
  planning: Planning,
  model: CollectionModel,
  query: RecordQuery,
  parent: ParentRecord | undefined,
): Promise<ListPlan> {
  const collection = await planning.collection(model);
  if (parent) await checkParent(planning, parent);
  const search = query.search === undefined ? undefined : planSearch(collection, query.search);
  const includes = await planIncludes(planning, collection, query.include);
  return {
    collection,
    filter: query.filter && (await planFilter(planning, collection, query.filter)),
    search: search?.matches,
    parent,
    deleted: query.deleted,
    order: await planOrder(planning, collection, query, search?.relevance),
    includes,
    shown: await planFields(planning, collection, includes, query.fields),
    page: query.page,
    count: countOf(query),
  };
}

/** Throws RECORD_NOT_FOUND if no record can have that id, and RECORD_ACCESS_DENIED. */
export async function checkParent(planning: Planning, { collection, id }: ParentRecord): Promise<void> {
  await planning.collection(collection);
  if (!isUuid(id)) throw recordNotFound({ collection: collection.name, id });
}

function countOf({ count, page }: RecordQuery): ListPlan['count'] {
  if (count === 'exact') return 'exact';
  return count === undefined && page.number !== undefined ? mostCounted : 'none';
}

/** Resolves `search=words` over the searchable fields: which records it finds, and how well. */
export function planSearch(
  { model }: PlannedCollection,
  words: string,
): { readonly matches: (alias: Sql) => Sql; readonly relevance: Operand } {
  if (searchDocument(model, sql`t`) === undefined)
    throw queryProblem(
      'search',
      'INVALID_VALUE',
      `The collection "${model.name}" has no searchable field. Set "searchable": true for a text field of its definition.`,
    );
  const terms = sql`websearch_to_tsquery('simple'::regconfig, ${parameter(words)}::text)`;
  return {
    matches: (alias) => sql`${searchDocument(model, alias) ?? sql`null`} @@ ${terms}`,
    relevance: {
      name: 'relevance',
      kind: 'number',
      type: 'double precision',
      isOrdered: true,
      isNullable: false,
      isIndexed: false,
      field: undefined,
      expression: (alias) => sql`ts_rank(${searchDocument(model, alias) ?? sql`null`}, ${terms})::double precision`,
    },
  };
}
