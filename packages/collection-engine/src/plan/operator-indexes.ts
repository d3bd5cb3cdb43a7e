import type { FilterOperator } from '../parse/operators.js';

const ordered = '`indexed` or `unique`';
const pattern = '`patternIndexed`, from three characters on';
const content = '`indexed`';

/**
 * What a field needs so that a filter with the operator looks records up instead of reading all of them; undefined if nothing helps.
 * The reference of collections shows it, and `query-plans.story.test.ts` checks it over 100,000 records.
 */
export const operatorIndexes: Readonly<Record<FilterOperator, string | undefined>> = {
  eq: `${ordered}; inside of JSON \`indexed\` of the field`,
  neq: undefined,
  gt: ordered,
  gte: ordered,
  lt: ordered,
  lte: ordered,
  between: ordered,
  in: `${ordered}; inside of JSON \`indexed\` of the field`,
  nin: undefined,
  isnull: undefined,
  contains: pattern,
  starts: pattern,
  ends: pattern,
  icontains: pattern,
  istarts: pattern,
  iends: pattern,
  ieq: pattern,
  like: pattern,
  ilike: pattern,
  regex: pattern,
  has: content,
  hasAny: content,
  hasAll: content,
  search: '`searchable`',
};
