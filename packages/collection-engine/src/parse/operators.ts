/** Operators of conditions in `filter` and `having`. */
export const filterOperators = [
  'eq',
  'neq',
  'gt',
  'gte',
  'lt',
  'lte',
  'between',
  'in',
  'nin',
  'isnull',
  'contains',
  'starts',
  'ends',
  'icontains',
  'istarts',
  'iends',
  'ieq',
  'like',
  'ilike',
  'regex',
  'has',
  'hasAny',
  'hasAll',
  'search',
] as const;
export type FilterOperator = (typeof filterOperators)[number];

const known: ReadonlyMap<string, FilterOperator> = new Map<string, FilterOperator>([
  ...filterOperators.map((operator) => [operator, operator] as const),
  ['ne', 'neq'],
  ['any', 'in'],
  ['null', 'isnull'],
]);

/** Operators that take a list of values: repeated, or separated by commas. */
export const listOperators: ReadonlySet<FilterOperator> = new Set(['in', 'nin', 'between', 'hasAny', 'hasAll']);

/** Returns the operator of that name, also as Directus (`_eq`) and Strapi (`$eq`) write it. */
export function toOperator(name: string): FilterOperator | undefined {
  return known.get(name) ?? known.get(withoutPrefix(name));
}

/** Returns the kind of a group of conditions, or undefined if the name is not one. */
export function toGroup(name: string): 'and' | 'or' | 'not' | undefined {
  const group = withoutPrefix(name);
  return group === 'and' || group === 'or' || group === 'not' ? group : undefined;
}

const withoutPrefix = (name: string): string => (/^[_$]/.test(name) ? name.slice(1) : name);
