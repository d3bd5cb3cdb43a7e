import type { FilterOperator } from '../parse/operators.js';
import type { FilterValue } from '../parse/parse-filter.js';
import { excerpt, queryProblem, suggestion } from '../parse/query-problem.js';
import { join, parameter, sql, type Sql } from '../sql/sql.js';
import { invalid, toBoolean, toOperandValue } from './filter-value.js';
import { isPatternIndexed } from '../storage/collection-indexes.js';
import { searchedText } from '../storage/search-document.js';
import { asText, typed, typedList, type JsonPath, type Operand, type OperandKind } from './operand.js';

/** A condition whose operand is resolved. */
export interface Comparison {
  readonly operand: Operand;
  readonly operator: FilterOperator;
  readonly values: readonly FilterValue[];
  readonly parameter: string;
}

const equality: readonly FilterOperator[] = ['eq', 'neq', 'in', 'nin', 'isnull'];
const order: readonly FilterOperator[] = ['gt', 'gte', 'lt', 'lte', 'between'];
const texts: readonly FilterOperator[] = [
  ...(['contains', 'starts', 'ends', 'icontains', 'istarts', 'iends', 'ieq', 'like', 'ilike', 'regex'] as const),
];
const lists: readonly FilterOperator[] = ['has', 'hasAny', 'hasAll', 'isnull'];

export const operatorsOf: Readonly<Record<OperandKind, readonly FilterOperator[]>> = {
  text: [...equality, ...order, ...texts, 'search'],
  integer: [...equality, ...order],
  number: [...equality, ...order],
  boolean: equality,
  date: [...equality, ...order],
  datetime: [...equality, ...order],
  uuid: [...equality, ...order],
  json: ['eq', 'neq', 'has', 'isnull'],
  list: ['eq', 'neq', ...lists],
  textList: ['eq', 'neq', ...lists],
  jsonPath: [...equality, ...order, ...texts, 'has'],
  sealed: ['isnull'],
};

/**
 * Returns the condition as SQL over the row `alias`. It is true or false, also for records without a value: `neq`, `nin` and `not`
 * find exactly the records that `eq`, `in` and the condition do not find.
 */
export function comparisonSql({ operand, operator, values, parameter: name }: Comparison, alias: Sql): Sql {
  const offered = operatorsOf[operand.kind];
  if (!offered.includes(operator))
    throw queryProblem(
      excerpt(name),
      'UNKNOWN_OPERATOR',
      `"${excerpt(operand.name)}" cannot be compared with "${operator}".${suggestion(operator, offered)}`,
    );
  const given: Given = { operand, operator, values, name, alias, x: operand.expression(alias) };
  const [value] = values;
  if (operator === 'isnull') return isNull(given, toBoolean(operand, value ?? 'true', name));
  if (value === null && (operator === 'eq' || operator === 'neq')) return isNull(given, operator === 'eq');
  if (operand.kind === 'jsonPath') return jsonPathSql(given);
  if (operand.kind === 'json' || operand.kind === 'list' || operand.kind === 'textList') return documentSql(given);
  if (texts.includes(operator)) return textSql(given, given.x);
  return scalarSql(given);
}

interface Given {
  readonly operand: Operand;
  readonly operator: FilterOperator;
  readonly values: readonly FilterValue[];
  readonly name: string;
  readonly alias: Sql;
  readonly x: Sql;
}

function isNull({ operand, x }: Given, isTrue: boolean): Sql {
  const value = operand.type === 'jsonb' ? sql`nullif(${x}, 'null'::jsonb)` : x;
  return isTrue ? sql`${value} is null` : sql`${value} is not null`;
}

function scalarSql({ operand, operator, values, name, alias, x }: Given): Sql {
  const converted = values.map((value) => toOperandValue(operand, value, name));
  const one = (index = 0): Sql => typed(operand.type, converted[index]);
  switch (operator) {
    case 'eq':
      return sql`${x} = ${one()}`;
    case 'neq':
      return sql`${x} is distinct from ${one()}`;
    case 'gt':
      return sql`${x} > ${one()}`;
    case 'gte':
      return sql`${x} >= ${one()}`;
    case 'lt':
      return sql`${x} < ${one()}`;
    case 'lte':
      return sql`${x} <= ${one()}`;
    case 'between':
      checkPair(operand, values, name);
      return sql`${x} between ${one(0)} and ${one(1)}`;
    case 'in':
      return sql`${x} = any(${typedList(operand.type, converted)})`;
    case 'nin':
      return sql`(${x} = any(${typedList(operand.type, converted)})) is not true`;
    case 'search':
      return searchSql(operand, String(converted[0]), alias, x);
    default:
      throw new TypeError(`The operator ${operator} is not one of a scalar`);
  }
}

/**
 * Words of one field. The document of all searchable fields has them, too, and an index; only for a word that must be absent it says
 * nothing, because another field may have that.
 */
function searchSql({ searched }: Operand, words: string, alias: Sql, x: Sql): Sql {
  const terms = sql`websearch_to_tsquery('simple'::regconfig, ${parameter(words)}::text)`;
  const found = sql`to_tsvector('simple'::regconfig, ${searchedText(x)}) @@ ${terms}`;
  return searched && !words.includes('-') ? sql`(${searched(alias)} @@ ${terms} and ${found})` : found;
}

function checkPair(operand: Operand, values: readonly unknown[], name: string): void {
  if (values.length !== 2) throw invalid(operand, values.join(','), name, 'two values: the lowest and the highest');
}

function textSql({ operand, operator, values, name }: Given, x: Sql): Sql {
  const [value] = values;
  if (value === null || value === undefined) throw invalid(operand, value, name, 'a text');
  const text = String(value);
  // PostgreSQL would refuse it only when it comes to the end of the pattern.
  if ((operator === 'like' || operator === 'ilike') && /^(?:[^\\]|\\[^])*\\$/.test(text))
    throw invalid(operand, text, name, 'a pattern that does not end with a backslash');
  const pattern = (start: string, end: string): Sql => sql`${parameter(`${start}${escapeLike(text)}${end}`)}::text`;
  switch (operator) {
    case 'contains':
      return sql`${x} like ${pattern('%', '%')}`;
    case 'starts':
      return sql`${x} like ${pattern('', '%')}`;
    case 'ends':
      return sql`${x} like ${pattern('%', '')}`;
    case 'icontains':
      return sql`${x} ilike ${pattern('%', '%')}`;
    case 'istarts':
      return sql`${x} ilike ${pattern('', '%')}`;
    case 'iends':
      return sql`${x} ilike ${pattern('%', '')}`;
    case 'ieq': {
      const equal = sql`lower(${x}) = lower(${parameter(text)}::text)`;
      // Says the same in a way that the index for patterns can look up.
      return operand.field && isPatternIndexed(operand.field)
        ? sql`(${x} ilike ${pattern('', '')} and ${equal})`
        : equal;
    }
    case 'like':
      return sql`${x} like ${parameter(text)}::text`;
    case 'ilike':
      return sql`${x} ilike ${parameter(text)}::text`;
    default:
      return sql`${x} ~ ${parameter(text)}::text`;
  }
}

const escapeLike = (text: string): string => text.replaceAll(/[\\%_]/g, String.raw`\$&`);

/** Fields whose value is a JSON document or a list. */
function documentSql(given: Given): Sql {
  const { operand, operator, values, name, x } = given;
  if (operand.kind === 'textList') return textListSql(given);
  if (operator === 'eq' || operator === 'neq') {
    const document = typed('jsonb', toJson(operand, values[0], name));
    return operator === 'eq' ? sql`${x} = ${document}` : sql`${x} is distinct from ${document}`;
  }
  if (operand.kind === 'json') return sql`${x} @> ${typed('jsonb', toJson(operand, values[0], name))}`;
  const contained = values.map((value) => itemContained(operand, value, x));
  return sql`(${join(contained, operator === 'hasAny' ? sql` or ` : sql` and `)})`;
}

/** The text of a query string may stand for a text or another JSON value; the definition can say which. */
function itemContained(operand: Operand, value: unknown, x: Sql): Sql {
  const contains = (item: unknown): Sql => sql`${x} @> ${typed('jsonb', JSON.stringify([item]))}`;
  // The text itself: as a number of JavaScript it could be another one.
  const containsJson = (json: string): Sql => sql`${x} @> ${typed('jsonb', `[${json}]`)}`;
  if (typeof value !== 'string') return contains(value);
  const itemType = operand.field?.definition.constraints?.itemType;
  const other = itemType === 'string' ? undefined : parseJson(value);
  if (other === undefined || typeof other === 'string') return contains(value);
  return itemType === undefined ? sql`(${contains(value)} or ${containsJson(value)})` : containsJson(value);
}

/** Texts of a picklist: an array in a physical table, a JSON array in a document. Both take the same values, and find the same records. */
function textListSql({ operand, operator, values, name, x }: Given): Sql {
  const isDocument = operand.type === 'jsonb';
  const listOf = (texts: readonly unknown[]): Sql =>
    isDocument ? typed('jsonb', JSON.stringify(texts)) : typedList('text', texts);
  if (operator === 'eq' || operator === 'neq') {
    const list = parseJson(String(values[0]));
    if (!Array.isArray(list) || list.some((item) => typeof item !== 'string'))
      throw invalid(operand, values[0], name, 'a JSON array of texts');
    return operator === 'eq' ? sql`${x} = ${listOf(list)}` : sql`${x} is distinct from ${listOf(list)}`;
  }
  const other = values.find((value) => typeof value !== 'string');
  if (other !== undefined) throw invalid(operand, other, name, 'texts');
  if (operator !== 'hasAny') return sql`${x} @> ${listOf(values)}`;
  return isDocument ? sql`${x} ?| ${typedList('text', values)}` : sql`${x} && ${typedList('text', values)}`;
}

/**
 * A value inside of a JSON document has no declared type. Numbers of the filter are compared with numbers, everything else with texts;
 * equality of a text of the query string looks at the text of the value, so that `5` finds 5 and "5".
 */
function jsonPathSql(given: Given): Sql {
  const { operand, operator, values, name, alias, x } = given;
  if (texts.includes(operator)) return textSql(given, asText(x));
  const [first] = values;
  if (operator === 'has')
    return withinDocument(operand.inside, alias, [first], (item) => [item], itemContained(operand, first, x));
  if (values.includes(null)) throw invalid(operand, values[0], name, 'a single value');
  const equal = (value: FilterValue | undefined): Sql =>
    withinDocument(
      operand.inside,
      alias,
      [value],
      (one) => one,
      typeof value === 'string'
        ? sql`${asText(x)} = ${parameter(value)}::text`
        : sql`${x} = ${typed('jsonb', JSON.stringify(value))}`,
    );
  switch (operator) {
    case 'eq':
      return equal(values[0]);
    case 'neq':
      return sql`(${equal(values[0])}) is not true`;
    case 'in':
      return sql`(${join(values.map(equal), sql` or `)})`;
    case 'nin':
      return sql`(${join(values.map(equal), sql` or `)}) is not true`;
    case 'between':
      checkPair(operand, values, name);
      return sql`(${jsonOrder(x, 'gte', values[0])} and ${jsonOrder(x, 'lte', values[1])})`;
    default:
      return jsonOrder(x, operator, values[0]);
  }
}

/**
 * Adds to a condition on a value inside of a document what follows for the whole document, which an index can look up. The text of a query
 * string may stand for a text or for another JSON value. A number among the keys may be a position in a list, of which the index knows nothing.
 */
function withinDocument(
  inside: JsonPath | undefined,
  alias: Sql,
  [value]: readonly (FilterValue | undefined)[],
  toContent: (value: unknown) => unknown,
  condition: Sql,
): Sql {
  if (!inside || value === undefined || inside.keys.some((key) => /^-?\d+$/.test(key))) return condition;
  const other = typeof value === 'string' ? parseJson(value) : undefined;
  const contents = other === undefined || typeof other === 'string' ? [value] : [value, other];
  const contained = contents.map((one) => {
    const content = inside.keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), toContent(one));
    return sql`${inside.document(alias)} @> ${typed('jsonb', JSON.stringify(content))}`;
  });
  return sql`((${join(contained, sql` or `)}) and ${condition})`;
}

const symbols: Partial<Readonly<Record<FilterOperator, Sql>>> = {
  gt: sql`>`,
  gte: sql`>=`,
  lt: sql`<`,
  lte: sql`<=`,
};

function jsonOrder(x: Sql, operator: FilterOperator, value: FilterValue | undefined): Sql {
  const symbol = symbols[operator] ?? sql`=`;
  const text = String(value);
  const isNumber = typeof value === 'number' || /^-?\d{1,300}(?:\.\d{1,300})?$/.test(text);
  // CASE guards the cast: PostgreSQL may test the conditions of AND in any order.
  return isNumber
    ? sql`case jsonb_typeof(${x}) when 'number' then (${x})::numeric ${symbol} ${parameter(text)}::numeric else false end`
    : sql`case jsonb_typeof(${x}) when 'string' then ${asText(x)} collate "C" ${symbol} ${parameter(text)}::text else false end`;
}

function toJson(operand: Operand, value: unknown, name: string): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (parseJson(value) === undefined) throw invalid(operand, value, name, 'a JSON value');
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
