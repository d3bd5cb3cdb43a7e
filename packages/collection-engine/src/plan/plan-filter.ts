import type { FilterCondition, FilterNode } from '../parse/parse-filter.js';
import { filterOperators } from '../parse/operators.js';
import { excerpt, queryProblem, suggestion } from '../parse/query-problem.js';
import { limitExceeded } from '../request/request-errors.js';
import { join, sql, type Sql } from '../sql/sql.js';
import { comparisonSql, type Comparison } from './comparison.js';
import { jsonPathOperand, operandOf, systemAttributeNames } from './operand.js';
import {
  from,
  relationEnds,
  relationJoin,
  visibleRows,
  type PlannedCollection,
  type Planning,
  type Relation,
} from './planning.js';

/** A filter whose names are resolved: plain data that `filterSql` turns into a condition. */
export type PlannedFilter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly PlannedFilter[] }
  | { readonly kind: 'not'; readonly part: PlannedFilter }
  | { readonly kind: 'comparison'; readonly comparison: Comparison }
  /** Some record that the relation leads to meets the condition. */
  | { readonly kind: 'related'; readonly relation: Relation; readonly part: PlannedFilter };

/** Resolves the names of a filter. Throws INVALID_QUERY for unknown ones, with a suggestion. */
export async function planFilter(
  planning: Planning,
  from: PlannedCollection,
  node: FilterNode,
): Promise<PlannedFilter> {
  switch (node.kind) {
    case 'and':
    case 'or': {
      const parts: PlannedFilter[] = [];
      for (const each of node.nodes) parts.push(await planFilter(planning, from, each));
      return { kind: node.kind, parts };
    }
    case 'not':
      return { kind: 'not', part: await planFilter(planning, from, node.node) };
    case 'condition':
      return planCondition(planning, from, node, 0);
  }
}

async function planCondition(
  planning: Planning,
  collection: PlannedCollection,
  condition: FilterCondition,
  depth: number,
): Promise<PlannedFilter> {
  const { path, operator, values, parameter } = condition;
  const name = path[depth] ?? '';
  const rest = path.slice(depth + 1);
  const operand = operandOf(collection, name);
  const comparison = (its: Comparison['operand']): PlannedFilter => ({
    kind: 'comparison',
    comparison: { operand: its, operator, values, parameter },
  });
  if (operand && rest.length === 0) return comparison(operand);
  if (operand?.kind === 'json' || operand?.kind === 'list') return comparison(jsonPathOperand(operand, rest));
  const relation = await planning.relation(collection, name);
  if (relation) {
    checkDepth(planning, depth + 1);
    // The relation itself: `filter[lines][isnull]=true` finds records without lines.
    if (rest.length === 0) return anyRelated(relation, condition);
    // A record without a related one meets no condition, so it meets the opposite of each.
    const opposite = oppositeOf(condition);
    if (opposite) return { kind: 'not', part: await planCondition(planning, collection, opposite, depth) };
    return { kind: 'related', relation, part: await planCondition(planning, relation.target, condition, depth + 1) };
  }
  if (operand)
    throw queryProblem(
      excerpt(parameter),
      'UNKNOWN_OPERATOR',
      `"${name}" has no operator or field "${excerpt(rest.join('.'))}".${suggestion(rest[0] ?? '', filterOperators)}`,
    );
  throw await unknownField(planning, collection, name, parameter);
}

/**
 * Returns the condition that a negative one is the opposite of; undefined for others. Behind a relation `neq` finds what `not` with `eq`
 * finds: the records without a related one that equals the value, not those with one that differs.
 */
function oppositeOf(condition: FilterCondition): FilterCondition | undefined {
  const { operator, values } = condition;
  const [value] = values;
  if (operator === 'nin') return { ...condition, operator: 'in' };
  if (operator === 'neq' && value !== null) return { ...condition, operator: 'eq' };
  // `toBoolean` refuses other values where the condition becomes SQL.
  const isTrue = operator === 'isnull' && /^(?:true|1|)$/i.test(String(value ?? 'true'));
  if (isTrue || (operator === 'eq' && value === null)) return { ...condition, operator: 'isnull', values: ['false'] };
  return undefined;
}

function anyRelated(relation: Relation, { operator, values, parameter }: FilterCondition): PlannedFilter {
  const [value] = values;
  if (operator !== 'isnull' || !/^(?:true|false|)$/.test(String(value)))
    throw queryProblem(
      excerpt(parameter),
      'UNKNOWN_OPERATOR',
      `The relation "${relation.name}" takes the operator isnull with true or false, or a field: ${relation.name}.id.`,
    );
  const any: PlannedFilter = { kind: 'related', relation, part: { kind: 'and', parts: [] } };
  return String(value) === 'false' ? any : { kind: 'not', part: any };
}

function checkDepth({ context }: Planning, depth: number): void {
  const { includeDepth } = context.limits;
  if (depth > includeDepth)
    throw limitExceeded({
      limit: 'relations in one path or more',
      value: depth,
      allowed: includeDepth,
      next: 'Filter the related records with a request of their own.',
    });
}

/** Makes the error for a name that is neither a field nor a relation. */
export async function unknownField(
  planning: Planning,
  collection: PlannedCollection,
  name: string,
  parameter: string,
): Promise<Error> {
  const names = [...collection.model.fields.keys(), ...systemAttributeNames];
  const relations = await planning.relationNames(collection);
  return queryProblem(
    excerpt(parameter),
    'UNKNOWN_FIELD',
    `The collection "${collection.model.name}" has no field "${excerpt(name)}".${suggestion(name, [...new Set([...names, ...relations])])}`,
  );
}

/**
 * Returns the condition as SQL over the row `alias`. As one of several alternatives, the records that a relation leads to are found
 * first: PostgreSQL can then look up each alternative by an index, and need not read every record for a condition that is none of its own.
 */
export function filterSql(
  planning: Planning,
  collection: PlannedCollection,
  filter: PlannedFilter,
  alias: Sql,
  isAlternative = false,
): Sql {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const isOr = isAlternative || (filter.kind === 'or' && filter.parts.length > 1);
      const parts = filter.parts.map((part) => filterSql(planning, collection, part, alias, isOr));
      if (parts.length === 0) return filter.kind === 'and' ? sql`true` : sql`false`;
      return sql`(${join(parts, filter.kind === 'and' ? sql` and ` : sql` or `)})`;
    }
    case 'not': {
      const part = filterSql(planning, collection, filter.part, alias);
      // EXISTS is never null, and PostgreSQL makes an anti join of NOT EXISTS only.
      return filter.part.kind === 'related' ? sql`not ${part}` : sql`(${part}) is not true`;
    }
    case 'comparison':
      return comparisonSql(filter.comparison, alias);
    case 'related': {
      const { relation, part } = filter;
      const target = planning.alias();
      if (isAlternative && isFiltered(part)) {
        const [own, found] = relationEnds(relation, collection, alias, target);
        return sql`${own} = any(array(select ${found} from ${from(relation.target, target)} where ${visibleRows(target, planning.context)} and ${filterSql(planning, relation.target, part, target)}))`;
      }
      return sql`exists (select 1 from ${from(relation.target, target)} where ${visibleRows(target, planning.context)} and ${relationJoin(relation, collection, alias, target)} and ${filterSql(planning, relation.target, part, target)})`;
    }
  }
}

/** Whether a filter has a condition; without one, it finds every record of its collection. */
const isFiltered = (filter: PlannedFilter): boolean =>
  filter.kind === 'and' || filter.kind === 'or' ? filter.parts.some(isFiltered) : filter.kind !== 'not';
