import { parseRecordQuery } from '../parse/parse-query.js';
import { aggregateStatement, planAggregate } from '../plan/plan-aggregate.js';
import { Planning } from '../plan/planning.js';
import type { RecordOperation } from '../request/record-operation.js';
import { operationNotOffered, recordNotFound } from '../request/request-errors.js';
import { listAnswer, pageLink } from '../respond/documents.js';
import { runQuery } from './run-query.js';

const takes = ['filter', 'search', 'deleted', 'group', 'agg', 'having', 'sort', 'page'] as const;

/** GET /api/{collection}/aggregate: counts, sums and other values of groups of records. Both shapes have the same rows. */
export const aggregateRecords: RecordOperation = async (context, collection, request, dependencies) => {
  if (!collection.api.list) throw operationNotOffered({ collection: collection.name, operation: 'list' });
  const query = parseRecordQuery(request.query, { takes }, context.limits);
  const planning = new Planning(context, dependencies);
  const plan = await planAggregate(planning, collection, query, request.parent);
  const [row] = await runQuery<{ data: string | null; rows: number; hasParent: boolean }>(
    dependencies,
    aggregateStatement(planning, plan),
    'filter',
  );
  if (request.parent && !row?.hasParent)
    throw recordNotFound({ collection: request.parent.collection.name, id: request.parent.id });
  const { size, number = 1 } = query.page;
  const hasMore = (row?.rows ?? 0) > size;
  const link = (page: number): string => pageLink(request.path, request.query, { number: String(page) });
  return listAnswer('flat', {
    data: row?.data ?? null,
    included: undefined,
    links: {
      self: request.query === '' ? request.path : `${request.path}?${request.query}`,
      prev: number > 1 ? link(number - 1) : undefined,
      next: hasMore ? link(number + 1) : undefined,
    },
    meta: { pageSize: size, hasMore, currentPage: number },
  });
};
