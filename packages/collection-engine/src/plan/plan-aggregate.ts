import type { CollectionModel } from '../model/collection-model.js';
import type { AggregateFunction, AggregateTerm, GroupTerm, TimeUnit } from '../parse/parse-aggregates.js';
import type { FilterNode } from '../parse/parse-filter.js';
import type { RecordQuery } from '../parse/parse-query.js';
import { excerpt, queryProblem, suggestion } from '../parse/query-problem.js';
import type { ParentRecord } from '../request/record-operation.js';
import { constant, empty, identifier, join, parameter, sql, type Sql } from '../sql/sql.js';
import { timeText } from '../storage/time-expression.js';
import { conditionSql, parentSql, type ListPlan } from './list-statement.js';
import { operandOf, type Operand, type OperandKind } from './operand.js';
import { filterSql, planFilter, unknownField, type PlannedFilter } from './plan-filter.js';
import { checkParent, planSearch } from './plan-list.js';
import { integerCode } from './plan-order.js';
import { from, type PlannedCollection, type Planning } from './planning.js';

/** An aggregation, resolved. Columns are operands of their own: `having` and `sort` name them. */
export interface AggregatePlan
  extends Pick<ListPlan, 'collection' | 'filter' | 'search' | 'parent' | 'deleted' | 'page'> {
  readonly groups: readonly Operand[];
  readonly values: readonly Operand[];
  readonly having: PlannedFilter | undefined;
  readonly sort: readonly { readonly operand: Operand; readonly isDescending: boolean }[];
}

/** Resolves `group`, `agg`, `having` and `sort`. Throws INVALID_QUERY. */
export async function planAggregate(
  planning: Planning,
  model: CollectionModel,
  query: RecordQuery,
  parent: ParentRecord | undefined,
): Promise<AggregatePlan> {
  const collection = await planning.collection(model);
  if (parent) await checkParent(planning, parent);
  if (query.page.cursor)
    throw queryProblem(query.page.cursor.parameter, 'UNKNOWN_PARAMETER', 'Groups have no cursors. Use page[number].');
  const groups: Operand[] = [];
  for (const term of query.groups)
    groups.push(groupOperand(await known(planning, collection, term.field, 'group'), term));
  const values: Operand[] = [];
  for (const term of query.aggregates) values.push(await aggregateOperand(planning, collection, term));
  if (values.length === 0) values.push(countOperand('count', () => sql`*`));
  const columns = byName([...groups, ...values]);
  return {
    collection,
    filter: query.filter && (await planFilter(planning, collection, query.filter)),
    search: query.search === undefined ? undefined : planSearch(collection, query.search).matches,
    parent,
    deleted: query.deleted,
    page: query.page,
    groups,
    values,
    having: query.having && planHaving(query.having, columns),
    sort: query.sort.map(({ path, isDescending }) => ({
      operand: column(columns, path.join('.'), 'sort'),
      isDescending,
    })),
  };
}

/** Returns the statement of an aggregation: one row with the JSON of all groups of the page. */
export function aggregateStatement(planning: Planning, plan: AggregatePlan): Sql {
  const t = sql`t`;
  const { groups, values, having, page, collection } = plan;
  // PostgreSQL cuts names of columns to 63 bytes, which the name of a field and a unit or function exceeds: results are named in JSON.
  const columns = [...groups, ...values].map((operand, index) => ({ operand, name: identifier(`c${index}`) }));
  const shown = columns.map(({ operand, name }) => sql`${operand.expression(t)} as ${name}`);
  const members = columns.map(({ operand, name }, index) => {
    const key = `${index === 0 ? '{' : ','}${JSON.stringify(operand.name)}:`;
    const value = operand.type === 'timestamptz' ? timeText(sql`r.${name}`) : sql`r.${name}`;
    return sql`${parameter(key)}::text || coalesce(to_json(${value})::text, 'null')`;
  });
  const grouped =
    groups.length === 0
      ? empty
      : sql` group by ${join(
          groups.map((_, index) => integerCode(index + 1)),
          sql`, `,
        )}`;
  const condition = having ? sql` having ${filterSql(planning, collection, having, t)}` : empty;
  const order = [
    ...plan.sort.map(
      ({ operand, isDescending }) => sql`${operand.expression(t)}${isDescending ? sql` desc` : empty} nulls last`,
    ),
    ...groups.map((_, index) => sql`${integerCode(index + 1)} nulls last`),
  ];
  const ordered = order.length === 0 ? empty : sql` order by ${join(order, sql`, `)}`;
  const skipped = ((page.number ?? 1) - 1) * page.size;
  const rows = sql`select ${join(shown, sql`, `)} from ${from(collection, t)} where ${conditionSql(planning, plan, t)}${grouped}${condition}${ordered} limit ${integerCode(page.size + 1)} offset ${integerCode(skipped)}`;
  return sql`select string_agg(g.record, ',') filter (where g.n <= ${integerCode(page.size)}) as data, count(*) as rows, ${parentSql(planning, plan)} as "hasParent" from (select ${join(members, sql` || `)} || '}' as record, row_number() over () as n from (${rows}) as r) as g`;
}

function byName(columns: readonly Operand[]): ReadonlyMap<string, Operand> {
  const map = new Map<string, Operand>();
  for (const each of columns) {
    if (map.has(each.name))
      throw queryProblem(
        'agg',
        'INVALID_VALUE',
        `Two columns have the name "${excerpt(each.name)}". Give one an alias: agg[total]=sum:revenue.`,
      );
    map.set(each.name, each);
  }
  return map;
}

function column(columns: ReadonlyMap<string, Operand>, name: string, parameter: string): Operand {
  const found = columns.get(name);
  if (!found)
    throw queryProblem(
      excerpt(parameter),
      'UNKNOWN_FIELD',
      `The result has no column "${excerpt(name)}".${suggestion(name, [...columns.keys()])}`,
    );
  return found;
}

function planHaving(node: FilterNode, columns: ReadonlyMap<string, Operand>): PlannedFilter {
  switch (node.kind) {
    case 'and':
    case 'or':
      return { kind: node.kind, parts: node.nodes.map((each) => planHaving(each, columns)) };
    case 'not':
      return { kind: 'not', part: planHaving(node.node, columns) };
    case 'condition': {
      const { path, operator, values, parameter } = node;
      const operand = column(columns, path.join('.'), parameter);
      return { kind: 'comparison', comparison: { operand, operator, values, parameter } };
    }
  }
}

async function known(
  planning: Planning,
  collection: PlannedCollection,
  name: string,
  parameter: string,
): Promise<Operand> {
  const operand = operandOf(collection, name);
  if (!operand) throw await unknownField(planning, collection, name, parameter);
  return operand;
}

const groupKinds: ReadonlySet<OperandKind> = new Set<OperandKind>([
  'text',
  'integer',
  'number',
  'boolean',
  'date',
  'datetime',
  'uuid',
]);

function groupOperand(operand: Operand, { unit }: GroupTerm): Operand {
  if (!groupKinds.has(operand.kind))
    throw queryProblem('group', 'INVALID_VALUE', `Records cannot be grouped by "${excerpt(operand.name)}".`);
  const isTime = operand.kind === 'date' || operand.kind === 'datetime';
  if (unit === undefined) return isTime ? asTime(operand) : operand;
  if (!isTime)
    throw queryProblem(
      'group',
      'INVALID_VALUE',
      `"${excerpt(operand.name)}" is no time: "${unit}" needs a date or a time.`,
    );
  return truncated(asTime(operand), unit);
}

/** JSONB documents hold times as texts; results show them as other lists do. */
function asTime(operand: Operand): Operand {
  if (operand.type !== 'sortableText') return operand;
  const isDate = operand.kind === 'date';
  return {
    ...operand,
    type: isDate ? 'date' : 'timestamptz',
    expression: (alias) =>
      isDate ? sql`${operand.expression(alias)}::date` : sql`${operand.expression(alias)}::timestamptz`,
  };
}

function truncated(operand: Operand, unit: TimeUnit): Operand {
  const start = (alias: Sql): Sql => {
    const x = operand.expression(alias);
    return operand.kind === 'date'
      ? sql`date_trunc(${constant(unit)}, ${x}::timestamp)`
      : sql`date_trunc(${constant(unit)}, ${x} at time zone 'UTC')`;
  };
  const isHour = unit === 'hour';
  return {
    ...operand,
    name: `${operand.name}_${unit}`,
    kind: isHour ? 'datetime' : 'date',
    type: isHour ? 'timestamptz' : 'date',
    expression: (alias) => (isHour ? sql`(${start(alias)} at time zone 'UTC')` : sql`${start(alias)}::date`),
  };
}

const functionKinds: Readonly<Record<AggregateFunction, readonly OperandKind[]>> = {
  count: ['text', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid', 'json', 'list', 'textList', 'sealed'],
  countDistinct: ['text', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid'],
  sum: ['integer', 'number'],
  avg: ['integer', 'number'],
  min: ['text', 'integer', 'number', 'date', 'datetime'],
  max: ['text', 'integer', 'number', 'date', 'datetime'],
};

async function aggregateOperand(
  planning: Planning,
  collection: PlannedCollection,
  term: AggregateTerm,
): Promise<Operand> {
  if (term.field === undefined) return countOperand(term.alias, () => sql`*`);
  const operand = await known(planning, collection, term.field, term.parameter);
  if (!functionKinds[term.function].includes(operand.kind))
    throw queryProblem(
      excerpt(term.parameter),
      'INVALID_VALUE',
      `"${term.function}" cannot be computed of "${excerpt(operand.name)}".`,
    );
  const x = asTime(operand);
  switch (term.function) {
    case 'count':
      return countOperand(term.alias, (alias) => x.expression(alias));
    case 'countDistinct':
      return countOperand(term.alias, (alias) => sql`distinct ${x.expression(alias)}`);
    case 'sum':
    case 'avg': {
      const call = term.function === 'sum' ? sql`sum` : sql`avg`;
      const type = x.type === 'double precision' ? 'double precision' : 'numeric';
      return {
        ...x,
        ...plain,
        name: term.alias,
        kind: 'number',
        type,
        expression: (alias) => sql`${call}(${x.expression(alias)})`,
      };
    }
    case 'min':
    case 'max': {
      const call = term.function === 'min' ? sql`min` : sql`max`;
      return { ...x, ...plain, name: term.alias, expression: (alias) => sql`${call}(${x.expression(alias)})` };
    }
  }
}

const plain = { isOrdered: true, isNullable: true, isIndexed: false, field: undefined } as const;

const countOperand = (name: string, counted: (alias: Sql) => Sql): Operand => ({
  ...plain,
  name,
  kind: 'integer',
  type: 'bigint',
  expression: (alias) => sql`count(${counted(alias)})`,
});
