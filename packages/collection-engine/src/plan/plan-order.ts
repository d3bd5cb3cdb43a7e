import type { PageRequest, RecordQuery, SortTerm } from '../parse/parse-query.js';
import { excerpt, queryProblem, suggestion } from '../parse/query-problem.js';
import { join, Sql, sql } from '../sql/sql.js';
import { readCursor, type CursorValues } from './cursor.js';
import { operandOf, typed, type Operand, type RelatedValue } from './operand.js';
import { unknownField } from './plan-filter.js';
import { from, relationJoin, visibleRows, type PlannedCollection, type Planning } from './planning.js';

/** The order of a list. Its last key is the id, so that it is total and pages neither miss nor repeat a record. */
export interface PlannedOrder {
  readonly keys: readonly OrderKey[];
  /** Names the keys: a cursor of another order is refused. */
  readonly signature: string;
  /** The page starts after these values. */
  readonly start: CursorValues | undefined;
  /** True for the page before a cursor: the statement reads backwards, and the response turns the records round. */
  readonly isBackward: boolean;
}

export interface OrderKey {
  readonly operand: Operand;
  readonly isDescending: boolean;
}

/** Resolves `sort`. `relevance` is the order of a full-text search without one. */
export async function planOrder(
  planning: Planning,
  collection: PlannedCollection,
  { sort, page }: Pick<RecordQuery, 'sort' | 'page'>,
  relevance: Operand | undefined,
): Promise<PlannedOrder> {
  const keys: OrderKey[] = sort.length === 0 && relevance ? [{ operand: relevance, isDescending: true }] : [];
  for (const term of sort) keys.push(await planKey(planning, collection, term));
  if (!keys.some(({ operand }) => operand.name === 'id')) {
    const id = operandOf(collection, 'id');
    if (id) keys.push({ operand: id, isDescending: keys.at(-1)?.isDescending ?? false });
  }
  const signature = keys.map(({ operand, isDescending }) => `${isDescending ? '-' : ''}${operand.name}`).join(',');
  return { keys, signature, ...startOf(page, signature, keys.length) };
}

function startOf(
  { cursor }: PageRequest,
  signature: string,
  length: number,
): Pick<PlannedOrder, 'start' | 'isBackward'> {
  if (!cursor) return { start: undefined, isBackward: false };
  return { start: readCursor(cursor, signature, length), isBackward: cursor.direction === 'before' };
}

async function planKey(planning: Planning, collection: PlannedCollection, term: SortTerm): Promise<OrderKey> {
  const operand = await planOperand(planning, collection, term.path);
  if (!operand.isOrdered && operand.kind !== 'uuid')
    throw queryProblem(
      'sort',
      'INVALID_VALUE',
      `Records cannot be sorted by "${excerpt(operand.name)}".${suggestion('', sortableNames(collection))}`,
    );
  return { operand, isDescending: term.isDescending };
}

const sortableNames = ({ model }: PlannedCollection): string[] =>
  [...model.fields.values()].filter(({ traits }) => traits.isOrdered).map(({ name }) => name);

/** Resolves a field, or a field behind relations to one record: its value is read for each record. */
async function planOperand(
  planning: Planning,
  collection: PlannedCollection,
  path: readonly string[],
): Promise<Operand> {
  const [name = '', ...rest] = path;
  const operand = operandOf(collection, name);
  if (operand && rest.length === 0) return operand;
  const relation = await planning.relation(collection, name);
  if (!relation || path.length > planning.context.limits.includeDepth + 1)
    throw await unknownField(planning, collection, relation ? path.join('.') : name, 'sort');
  if (relation.kind === 'toMany' || rest.length === 0)
    throw queryProblem(
      'sort',
      'INVALID_VALUE',
      `"${excerpt(name)}" does not lead to one value. Sort by a field of it.`,
    );
  const { related: _nested, ...inner } = await planOperand(planning, relation.target, rest);
  const target = planning.alias();
  const value = inner.expression(target);
  const isVisible = visibleRows(target, planning.context);
  const related = {
    value,
    table: from(relation.target, target),
    isOf: (alias: Sql): Sql =>
      sql`${relationJoin(relation, collection, alias, target)} and ${isVisible} and ${value} is not null`,
  };
  return {
    ...inner,
    ...(inner.isIndexed && { related }),
    name: path.join('.'),
    isNullable: true,
    isIndexed: false,
    field: undefined,
    expression: (alias) =>
      sql`(select ${value} from ${from(relation.target, target)} where ${isVisible} and ${relationJoin(relation, collection, alias, target)})`,
  };
}

/** A part of a list: all its records come before those of the next part. */
export interface OrderedPart {
  /** Rows that each record is joined with, one at most. */
  readonly join?: Sql;
  readonly condition: Sql | undefined;
  readonly orderBy: Sql;
}

/**
 * Returns the parts of a list in their order. Records without a value come last (first when read backwards), also downwards. An index
 * read backwards has them first, so a list by an indexed field has two parts: records with a value and those without, each in the
 * order of the index. So has a list by an indexed field of a related record, which starts from the related records.
 */
export function orderedParts(order: PlannedOrder, alias: Sql): OrderedPart[] {
  const [first, id, ...others] = order.keys;
  if (first?.operand.related && id && others.length === 0 && first.isDescending === id.isDescending)
    return relatedParts(order, first, first.operand.related, alias);
  const isByIndex = first?.operand.isIndexed && first.operand.isNullable && id && others.length === 0;
  if (isByIndex && first.isDescending === id.isDescending && (first.isDescending || order.start || order.isBackward))
    return indexedParts(order, first, id, alias);
  const terms = order.keys.map((key) => orderTerm(key, order.isBackward, alias));
  const condition = order.start && startCondition(order.keys, order.start, order.isBackward, alias);
  return [{ condition, orderBy: join(terms, sql`, `) }];
}

const isDown = ({ isDescending }: OrderKey, isBackward: boolean): boolean => isDescending !== isBackward;

function orderTerm(key: OrderKey, isBackward: boolean, alias: Sql): Sql {
  const direction = isDown(key, isBackward) ? sql` desc` : sql``;
  const { isNullable, isIndexedDownwards } = key.operand;
  // Of an attribute that every record has, this changes nothing but which index fits: those that are sorted downwards have nulls last.
  if (isIndexedDownwards)
    return sql`${key.operand.expression(alias)}${direction}${isDown(key, isBackward) ? sql` nulls last` : sql` nulls first`}`;
  const nulls = isNullable ? (isBackward ? sql` nulls first` : sql` nulls last`) : sql``;
  return sql`${key.operand.expression(alias)}${direction}${nulls}`;
}

function indexedParts(order: PlannedOrder, key: OrderKey, id: OrderKey, alias: Sql): OrderedPart[] {
  const { start, isBackward } = order;
  const x = key.operand.expression(alias);
  const direction = isDown(key, isBackward) ? sql` desc` : sql``;
  const beyond = isDown(key, isBackward) ? sql`<` : sql`>`;
  const orderBy = sql`${x}${direction}, ${alias}.id${direction}`;
  const startId = start && typed(id.operand.type, start[1]);
  const startValue = start?.[0] ?? undefined;
  const withValue: OrderedPart = {
    condition:
      startValue !== undefined && startId
        ? sql`(${x}, ${alias}.id) ${beyond} (${typed(key.operand.type, startValue)}, ${startId})`
        : sql`${x} is not null`,
    orderBy,
  };
  const withoutValue: OrderedPart = {
    condition:
      start && startValue === undefined && startId
        ? sql`${x} is null and ${alias}.id ${beyond} ${startId}`
        : sql`${x} is null`,
    orderBy,
  };
  const isPast = start && startValue === undefined; // the cursor stands among the records without a value
  if (isBackward) return start && !isPast ? [withValue] : [withoutValue, withValue];
  return isPast ? [withoutValue] : [withValue, withoutValue];
}

function relatedParts(order: PlannedOrder, key: OrderKey, related: RelatedValue, alias: Sql): OrderedPart[] {
  const { start, isBackward } = order;
  const down = isDown(key, isBackward);
  const [direction, beyond, reaches] = down ? [sql` desc`, sql`<`, sql`<=`] : [sql``, sql`>`, sql`>=`];
  const id = sql`${alias}.id`;
  const startId = start && typed('uuid', start[1]);
  const startValue = start?.[0] ?? undefined;
  const bound = startValue === undefined ? undefined : typed(key.operand.type, startValue);
  const withValue: OrderedPart = {
    join: sql` join ${related.table} on ${related.isOf(alias)}`,
    // The first condition lets the index begin there: the second compares values of two tables.
    condition:
      bound && startId
        ? sql`${related.value} ${reaches} ${bound} and (${related.value}, ${id}) ${beyond} (${bound}, ${startId})`
        : undefined,
    orderBy: sql`${related.value}${direction}, ${id}${direction}`,
  };
  const isPast = start && startValue === undefined; // the cursor stands among the records without a value
  const hasNone = sql`not exists (select 1 from ${related.table} where ${related.isOf(alias)})`;
  const withoutValue: OrderedPart = {
    condition: isPast && startId ? sql`${hasNone} and ${id} ${beyond} ${startId}` : hasNone,
    orderBy: sql`${id}${direction}`,
  };
  if (isBackward) return start && !isPast ? [withValue] : [withoutValue, withValue];
  return isPast ? [withoutValue] : [withValue, withoutValue];
}

/** The records after the start, for any keys: equal in the first ones and beyond it in the next. */
function startCondition(keys: readonly OrderKey[], start: CursorValues, isBackward: boolean, alias: Sql): Sql {
  const directions = new Set(keys.map((key) => isDown(key, isBackward)));
  if (directions.size === 1 && keys.every(({ operand }) => !operand.isNullable)) {
    const row = join(
      keys.map(({ operand }) => operand.expression(alias)),
      sql`, `,
    );
    const values = join(
      keys.map(({ operand }, index) => typed(operand.type, start[index])),
      sql`, `,
    );
    return sql`(${row}) ${directions.has(true) ? sql`<` : sql`>`} (${values})`;
  }
  const alternatives = keys.map((key, index) => {
    const equal = keys
      .slice(0, index)
      .map(({ operand }, at) =>
        start[at] === null
          ? sql`${operand.expression(alias)} is null`
          : sql`${operand.expression(alias)} = ${typed(operand.type, start[at])}`,
      );
    return sql`(${join([...equal, beyondValue(key, start[index] ?? null, isBackward, alias)], sql` and `)})`;
  });
  return sql`(${join(alternatives, sql` or `)})`;
}

function beyondValue(key: OrderKey, value: string | null, isBackward: boolean, alias: Sql): Sql {
  const x = key.operand.expression(alias);
  if (value === null) return isBackward ? sql`${x} is not null` : sql`false`;
  const compared = sql`${x} ${isDown(key, isBackward) ? sql`<` : sql`>`} ${typed(key.operand.type, value)}`;
  return key.operand.isNullable && !isBackward ? sql`(${compared} or ${x} is null)` : compared;
}

/** Returns the values of the keys as one text, of which a cursor is made. */
export function cursorSql({ keys }: PlannedOrder, alias: Sql): Sql {
  const values = keys.map(({ operand }) => sql`(${operand.expression(alias)})::text`);
  return sql`json_build_array(${join(values, sql`, `)})::text`;
}

export const integerCode = (value: number): Sql => Sql.code(String(Math.trunc(value)));
