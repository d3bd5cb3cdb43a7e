import { parseRecordQuery } from '../parse/parse-query.js';
import { writeCursor } from '../plan/cursor.js';
import { listStatement, type ListPlan, type ListRow } from '../plan/list-statement.js';
import { planList } from '../plan/plan-list.js';
import { Planning } from '../plan/planning.js';
import type { RecordOperation, RecordRequest } from '../request/record-operation.js';
import { limitExceeded, operationNotOffered, recordNotFound } from '../request/request-errors.js';
import type { RecordLimits } from '../request/record-context.js';
import { listAnswer, pageLink, type ListMeta } from '../respond/documents.js';
import { estimateRows } from './estimate-rows.js';
import { openSealed } from './open-sealed.js';
import { queryErrors, runQuery } from './run-query.js';

const takes = ['filter', 'sort', 'fields', 'include', 'page', 'count', 'deleted', 'search'] as const;

/** GET /api/{collection}: a page of records. */
export const listRecords: RecordOperation = async (context, collection, request, dependencies) => {
  if (!collection.api.list) throw operationNotOffered({ collection: collection.name, operation: 'list' });
  const query = parseRecordQuery(request.query, { takes }, context.limits);
  const planning = new Planning(context, dependencies);
  const plan = await planList(planning, collection, query, request.parent);
  const reads = runQuery<ListRow>(
    dependencies,
    listStatement(planning, plan),
    query.page.cursor?.parameter ?? 'filter',
  );
  const [[row], estimate] = await Promise.all([
    reads,
    query.count === 'planned' ? queryErrors(estimateRows(dependencies.database, planning, plan), 'filter') : undefined,
  ]);
  if (!row) throw new TypeError('The statement of a list returns one row');
  if (request.parent && !row.hasParent)
    throw recordNotFound({ collection: request.parent.collection.name, id: request.parent.id });
  checkIncluded(row.includedCount ?? 0, context.limits);
  const position = positionOf(request, plan, row);
  const answer = listAnswer(context.shape, {
    data: row.data,
    included: plan.includes.length > 0 ? row.included : undefined,
    links: position.links,
    meta: metaOf(plan, row, position, estimate),
  });
  return typeof answer.body === 'string'
    ? {
        ...answer,
        body: openSealed(context, dependencies, { model: collection, includes: plan.includes }, answer.body),
      }
    : answer;
};

/** Throws RECORD_LIMIT_EXCEEDED: included records are never cut without a word. */
export function checkIncluded(count: number, { included }: RecordLimits): void {
  if (count > included)
    throw limitExceeded({
      limit: 'included records or more',
      value: count,
      allowed: included,
      next: 'Ask for a smaller page, or read the related records with a request of their own.',
    });
}

interface Position {
  readonly hasMore: boolean;
  readonly nextCursor: string | undefined;
  readonly links: Readonly<Record<string, string | undefined>>;
}

/** Decides the links to the pages before and after. A page that was read backwards has its far end at the start. */
function positionOf({ path, query }: RecordRequest, { order, page }: ListPlan, row: ListRow): Position {
  const cursorOf = (values: string | null | undefined): string | undefined =>
    values === null || values === undefined ? undefined : writeCursor(order.signature, values);
  const hasFurther = row.rows > page.size;
  const far = hasFurther ? cursorOf(row.far) : undefined;
  const near = order.start ? cursorOf(row.near) : undefined;
  const [next, before] = order.isBackward ? [near, far] : [far, near];
  const link = (key: string, value: string | undefined): string | undefined =>
    value === undefined ? undefined : pageLink(path, query, { [key]: value });
  const number = page.number;
  return {
    hasMore: next !== undefined,
    nextCursor: next,
    links: {
      self: query === '' ? path : `${path}?${query}`,
      first: pageLink(path, query, number === undefined ? {} : { number: '1' }).replace(/\?$/, ''),
      prev: number !== undefined && number > 1 ? link('number', String(number - 1)) : link('before', before),
      next: link('after', next),
    },
  };
}

function metaOf(plan: ListPlan, row: ListRow, position: Position, estimate: number | undefined): ListMeta {
  const { page, count } = plan;
  const isCapped = typeof count === 'number' && row.total !== undefined && row.total > count;
  const total = estimate ?? (isCapped ? count : row.total);
  const isNumbered = page.number !== undefined;
  return {
    pageSize: page.size,
    hasMore: position.hasMore,
    nextCursor: position.nextCursor,
    ...(isNumbered && { currentPage: page.number }),
    ...(isNumbered && total !== undefined && !isCapped && { totalPages: Math.ceil(total / page.size) }),
    ...(total !== undefined && { total, totalIsEstimate: estimate !== undefined || isCapped }),
  };
}
