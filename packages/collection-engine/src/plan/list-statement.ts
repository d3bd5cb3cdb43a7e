import type { ParentRecord } from '../request/record-operation.js';
import type { RecordQuery } from '../parse/parse-query.js';
import { recordColumns, recordJson, type RecordView } from '../respond/record-json.js';
import { empty, identifier, join, parameter, sql, type Sql } from '../sql/sql.js';
import { fieldExpression } from '../storage/field-expression.js';
import { includeSql, pageRows } from './include-sql.js';
import { filterSql, type PlannedFilter } from './plan-filter.js';
import { cursorSql, integerCode, orderedParts, type PlannedOrder } from './plan-order.js';
import type { IncludeNode, ShownFields } from './plan-view.js';
import { from, visibleRows, type PlannedCollection, type Planning } from './planning.js';

/** A list of records, resolved: everything that its statement depends on. */
export interface ListPlan {
  readonly collection: PlannedCollection;
  readonly filter: PlannedFilter | undefined;
  /** Full-text search over the searchable fields. */
  readonly search: ((alias: Sql) => Sql) | undefined;
  readonly parent: ParentRecord | undefined;
  readonly deleted: RecordQuery['deleted'];
  readonly order: PlannedOrder;
  readonly includes: readonly IncludeNode[];
  readonly shown: ShownFields;
  readonly page: RecordQuery['page'];
  /** Counts all records, or up to this number. */
  readonly count: 'none' | 'exact' | number;
}

/** The one row of a list. */
export interface ListRow {
  /** The JSON of the records, separated by commas; null if there are none. */
  readonly data: string | null;
  /** Number of rows that were read: one more than the page has if there are further records. */
  readonly rows: number;
  /** Values of the order's keys in the record that was read first, absent on the first page, and in the last one of a full page. */
  readonly near?: string | null;
  readonly far: string | null;
  /** Absent without includes. */
  readonly included?: string | null;
  readonly includedCount?: number;
  /** Absent if nothing is counted. */
  readonly total?: number;
  /** Absent without a parent; false if the record that the list belongs to does not exist. */
  readonly hasParent?: boolean;
}

const t = sql`t`;
/** Number of a row of the page. No column of a field has this name: names start with a letter or an underscore. */
const n = identifier('#n');

/**
 * Returns the statement of a list: one row that has the JSON of the page. It reads one record more than the page has, which tells
 * whether there are more; all records are counted only if the request asks for it.
 */
export function listStatement(planning: Planning, plan: ListPlan): Sql {
  const { collection, page, order } = plan;
  const size = integerCode(page.size);
  const include =
    plan.includes.length > 0
      ? includeSql(planning, collection, plan.includes, { page: pageRows, alias: t, shown: plan.shown })
      : undefined;
  const view: RecordView = {
    shape: planning.context.shape,
    only: plan.shown.get(collection.model.name),
    computed: collection.computed,
    ...(include && { related: include.related }),
    isJoined: true,
  };
  const record = recordJson(collection.model, t, view);
  const joined = recordColumns(collection.model, t, view);
  // Rows come in the order of the page unless a join has changed it; sorting 25 records costs a tenth of the statement.
  const isReordered = include !== undefined && include.related.size > 0;
  const sequence = order.isBackward ? sql` order by t.${n} desc` : isReordered ? sql` order by t.${n}` : empty;
  const cursorAt = (row: Sql): Sql => sql`max(case when t.${n} = ${row} then ${cursorSql(order, t)} end)`;
  const columns = [
    sql`string_agg(${record}, ','${sequence}) filter (where t.${n} <= ${size}) as data`,
    sql`count(*) as rows`,
    sql`${cursorAt(size)} as far`,
    ...(order.start ? [sql`${cursorAt(sql`1`)} as near`] : []),
    ...(plan.count === 'none' ? [] : [sql`${countSql(planning, plan, plan.count)} as total`]),
    ...(plan.parent ? [sql`${parentSql(planning, plan)} as "hasParent"`] : []),
  ];
  const rows = sql`select t.*, row_number() over () as ${n} from (${pageSql(planning, plan)}) as t`;
  if (!include) return sql`select ${join(columns, sql`, `)} from (${rows}) as t${joined}`;
  const queries = [
    sql`r as (${rows})`,
    sql`${pageRows} as (select r.* from r where r.${n} <= ${size})`,
    ...include.queries,
  ];
  const paged = sql`select ${join(columns, sql`, `)} from r as t${include.joins}${joined}`;
  return sql`with ${join(queries, sql`, `)} select * from (${paged}) as paged cross join (${include.summary}) as summary`;
}

/** The rows of the page and the one after it, in order. */
function pageSql(planning: Planning, plan: ListPlan): Sql {
  const { collection, order, page } = plan;
  const skipped = page.number === undefined ? 0 : (page.number - 1) * page.size;
  const limit = sql` limit ${integerCode(page.size + 1)}${skipped > 0 ? sql` offset ${integerCode(skipped)}` : empty}`;
  const parts = orderedParts(order, t).map(
    ({ join: joined, condition, orderBy }) =>
      sql`select t.* from ${from(collection, t)}${joined ?? empty} where ${conditionSql(planning, plan, t)}${condition ? sql` and ${condition}` : empty} order by ${orderBy}`,
  );
  const [first, second] = parts;
  if (!first) return empty;
  if (!second) return sql`${first}${limit}`;
  // Rows of the second part are read only if the first has too few: the scan of a WITH query is lazy and never parallel.
  const most = sql` limit ${integerCode(page.size + 1 + skipped)}`;
  return sql`with a as materialized (${first}${most}), b as materialized (${second}${most}) select * from (select * from a union all select * from b) as u${limit}`;
}

/** The condition of all records of the list, on any page. */
export function conditionSql(
  planning: Planning,
  {
    collection,
    filter,
    search,
    parent,
    deleted,
  }: Pick<ListPlan, 'collection' | 'filter' | 'search' | 'parent' | 'deleted'>,
  alias: Sql,
): Sql {
  const { model } = collection;
  const conditions = [
    visibleRows(alias, planning.context, deleted),
    ...(parent ? [sql`${fieldExpression(model, parent.field, alias)} = ${parameter(parent.id)}::uuid`] : []),
    ...(search ? [search(alias)] : []),
    ...(filter ? [filterSql(planning, collection, filter, alias)] : []),
  ];
  return join(conditions, sql` and `);
}

function countSql(planning: Planning, plan: ListPlan, count: Exclude<ListPlan['count'], 'none'>): Sql {
  const { collection } = plan;
  const rows = sql`from ${from(collection, t)} where ${conditionSql(planning, plan, t)}`;
  return count === 'exact'
    ? sql`(select count(*) ${rows})`
    : sql`(select count(*) from (select 1 ${rows} limit ${integerCode(count + 1)}) as c)`;
}

/** Whether the record exists whose children the request is about; true without one. */
export function parentSql({ context }: Planning, { parent }: Pick<ListPlan, 'parent'>): Sql {
  if (!parent) return sql`true`;
  const alias = sql`parent`;
  return sql`exists (select 1 from ${from({ model: parent.collection, computed: new Map() }, alias)} where ${visibleRows(alias, context)} and ${alias}.id = ${parameter(parent.id)}::uuid)`;
}

/** The one row of a record; none if it does not exist. */
export interface GetRow {
  readonly data: string;
  readonly version: number;
  readonly included: string | null;
  readonly includedCount: number;
}

/** Returns the statement that reads one record, found by the condition of the plan, with what it includes. */
export function getStatement(planning: Planning, plan: Omit<ListPlan, 'order' | 'page' | 'count' | 'search'>): Sql {
  const { collection } = plan;
  const condition = conditionSql(planning, { ...plan, search: undefined }, t);
  const include =
    plan.includes.length > 0
      ? includeSql(planning, collection, plan.includes, { page: pageRows, alias: t, shown: plan.shown })
      : undefined;
  const record = recordJson(collection.model, t, {
    shape: planning.context.shape,
    only: plan.shown.get(collection.model.name),
    computed: collection.computed,
    ...(include && { related: include.related }),
  });
  if (!include) return sql`select ${record} as data, t.version from ${from(collection, t)} where ${condition}`;
  const queries = [sql`${pageRows} as (select t.* from ${from(collection, t)} where ${condition})`, ...include.queries];
  return sql`with ${join(queries, sql`, `)} select ${record} as data, t.version, summary.included, summary."includedCount" from ${pageRows} as t${include.joins} cross join (${include.summary}) as summary`;
}
