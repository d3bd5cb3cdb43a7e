import type { RecordLimits } from '../request/record-context.js';
import { limitExceeded } from '../request/request-errors.js';
import { parseAggregates, type AggregateTerm, type GroupTerm, parseGroups } from './parse-aggregates.js';
import { parseFilter, type FilterNode } from './parse-filter.js';
import { readQueryParameters, type QueryParameter } from './query-parameters.js';
import { excerpt, queryProblem, suggestion } from './query-problem.js';

/** The query string of a request for records: its syntax is checked, names and values are not. */
export interface RecordQuery {
  readonly filter: FilterNode | undefined;
  readonly sort: readonly SortTerm[];
  /** Names to show, by type; those of `fields=` without a type are under ''. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  /** Paths of relations. */
  readonly include: readonly (readonly string[])[];
  readonly page: PageRequest;
  readonly count: 'exact' | 'planned' | 'none' | undefined;
  readonly deleted: 'without' | 'with' | 'only';
  readonly search: string | undefined;
  readonly groups: readonly GroupTerm[];
  readonly aggregates: readonly AggregateTerm[];
  readonly having: FilterNode | undefined;
  /** Parameters of the operation itself, by name. */
  readonly own: ReadonlyMap<string, string>;
}

export interface SortTerm {
  readonly path: readonly string[];
  readonly isDescending: boolean;
}

export interface PageRequest {
  readonly size: number;
  /** From 1; undefined unless the request asks for a numbered page. */
  readonly number: number | undefined;
  readonly cursor:
    | { readonly text: string; readonly direction: 'after' | 'before'; readonly parameter: string }
    | undefined;
}

const families = [
  'filter',
  'sort',
  'fields',
  'include',
  'page',
  'count',
  'deleted',
  'search',
  'group',
  'agg',
  'having',
  'shape',
] as const;
export type QueryFamily = (typeof families)[number];

export interface QueryGrammar {
  /** Parameters that the operation takes; `shape` is always one of them. */
  readonly takes: readonly QueryFamily[];
  /** Further parameters of the operation, without brackets. */
  readonly own?: readonly string[];
}

export const defaultPageSize = 25;
/** A numbered page reads and drops all records before it; a cursor does not. */
const mostSkipped = 100_000;

/** Parses a query string. Throws INVALID_QUERY with the parameter, or RECORD_LIMIT_EXCEEDED. */
export function parseRecordQuery(query: string, grammar: QueryGrammar, limits: RecordLimits): RecordQuery {
  const byFamily = new Map<string, QueryParameter[]>();
  const names: string[] = [...grammar.takes, ...(grammar.own ?? []), 'shape'];
  for (const parameter of readQueryParameters(query)) {
    if (!names.includes(parameter.family))
      throw queryProblem(
        excerpt(parameter.name),
        'UNKNOWN_PARAMETER',
        `This request takes no parameter "${excerpt(parameter.name)}".${suggestion(parameter.family, names)}`,
      );
    const same = byFamily.get(parameter.family);
    if (same) same.push(parameter);
    else byFamily.set(parameter.family, [parameter]);
  }
  const of = (family: string): readonly QueryParameter[] => byFamily.get(family) ?? [];
  oneOf(of('shape'), ['jsonapi', 'flat']); // what it says is in the context of the request
  return {
    filter: parseFilter(of('filter'), limits),
    sort: parseSort(of('sort')),
    fields: parseFields(of('fields')),
    include: parseInclude(of('include'), limits),
    page: parsePage(of('page'), limits),
    count: oneOf(of('count'), ['exact', 'planned', 'none']),
    deleted: oneOf(of('deleted'), ['without', 'with', 'only']) ?? 'without',
    search: single(of('search'))?.value,
    groups: parseGroups(of('group')),
    aggregates: parseAggregates(of('agg')),
    having: parseFilter(of('having'), limits),
    own: new Map(
      (grammar.own ?? []).flatMap((name) => (single(of(name)) ? [[name, single(of(name))?.value ?? '']] : [])),
    ),
  };
}

/** Returns the parameter of a family that takes one without brackets. */
function single(parameters: readonly QueryParameter[]): QueryParameter | undefined {
  const [first, second] = parameters;
  if (second)
    throw queryProblem(second.name, 'INVALID_SYNTAX', `The parameter "${excerpt(second.name)}" must be sent once.`);
  if (first && first.keys.length > 0)
    throw queryProblem(first.name, 'UNKNOWN_PARAMETER', `Send "${first.family}" without brackets.`);
  return first;
}

function oneOf<T extends string>(parameters: readonly QueryParameter[], values: readonly T[]): T | undefined {
  const parameter = single(parameters);
  if (!parameter) return undefined;
  const found = values.find((value) => value === parameter.value);
  if (found === undefined)
    throw queryProblem(
      parameter.name,
      'INVALID_VALUE',
      `"${parameter.name}" is "${excerpt(parameter.value)}".${suggestion(parameter.value, values)}`,
    );
  return found;
}

function parseSort(parameters: readonly QueryParameter[]): SortTerm[] {
  const parameter = single(parameters);
  if (!parameter || parameter.value === '') return [];
  const terms = namesIn(parameter).map((name) => {
    const isDescending = name.startsWith('-');
    const path = (isDescending ? name.slice(1) : name).split('.');
    if (path.includes('')) throw queryProblem('sort', 'INVALID_SYNTAX', `"${excerpt(name)}" is not a name to sort by.`);
    return { path, isDescending };
  });
  if (terms.length > 8)
    throw limitExceeded({ limit: 'fields in "sort"', value: terms.length, allowed: 8, next: 'Sort by fewer fields.' });
  return terms;
}

function parseFields(parameters: readonly QueryParameter[]): Map<string, readonly string[]> {
  const fields = new Map<string, readonly string[]>();
  for (const parameter of parameters) {
    const [type = '', ...rest] = parameter.keys;
    if (rest.length > 0 || fields.has(type))
      throw queryProblem(
        parameter.name,
        'INVALID_SYNTAX',
        'Send "fields" once for each type, like fields[orders]=number.',
      );
    fields.set(type, parameter.value === '' ? [] : namesIn(parameter));
  }
  return fields;
}

function parseInclude(parameters: readonly QueryParameter[], { includeDepth }: RecordLimits): string[][] {
  const parameter = single(parameters);
  if (!parameter || parameter.value === '') return [];
  const paths = namesIn(parameter).map((name) => name.split('.'));
  const deepest = Math.max(...paths.map((path) => path.length));
  if (deepest > includeDepth)
    throw limitExceeded({
      limit: 'levels in "include"',
      value: deepest,
      allowed: includeDepth,
      next: 'Read the deeper records with a request of their own.',
    });
  if (paths.length > 20)
    throw limitExceeded({ limit: 'paths in "include"', value: paths.length, allowed: 20, next: 'Include fewer.' });
  return paths;
}

function namesIn({ name, value }: QueryParameter): string[] {
  const names = value.split(',').map((each) => each.trim());
  if (names.includes(''))
    throw queryProblem(name, 'INVALID_SYNTAX', `"${excerpt(name)}" has an empty name between its commas.`);
  return names;
}

const cursorKeys: ReadonlyMap<string, 'after' | 'before'> = new Map([
  ['cursor', 'after'],
  ['after', 'after'],
  ['before', 'before'],
]);

function parsePage(parameters: readonly QueryParameter[], limits: RecordLimits): PageRequest {
  let size = Math.min(defaultPageSize, limits.pageSize);
  let number: number | undefined;
  let cursor: PageRequest['cursor'];
  for (const parameter of parameters) {
    const [key = '', ...rest] = parameter.keys;
    const direction = cursorKeys.get(key);
    if (rest.length > 0 || (key !== 'size' && key !== 'number' && !direction))
      throw queryProblem(
        excerpt(parameter.name),
        'UNKNOWN_PARAMETER',
        `This request takes no parameter "${excerpt(parameter.name)}".${suggestion(key, ['size', 'number', 'after', 'before', 'cursor'])}`,
      );
    if (key === 'size') size = positive(parameter);
    else if (key === 'number') number = positive(parameter);
    else if (cursor)
      throw queryProblem(parameter.name, 'INVALID_SYNTAX', 'Send one of page[after], page[before] and page[cursor].');
    else if (direction) cursor = { text: parameter.value, direction, parameter: parameter.name };
  }
  if (size > limits.pageSize)
    throw limitExceeded({
      limit: 'as page[size]',
      value: size,
      allowed: limits.pageSize,
      next: 'Read more records with links.next.',
    });
  if (cursor && number !== undefined)
    throw queryProblem(cursor.parameter, 'INVALID_SYNTAX', 'Send either page[number] or a cursor, not both.');
  if (number !== undefined && (number - 1) * size > mostSkipped)
    throw limitExceeded({
      limit: 'records before the page',
      value: (number - 1) * size,
      allowed: mostSkipped,
      next: 'Follow links.next, which has no such limit.',
    });
  return { size, number, cursor };
}

function positive({ name, value }: QueryParameter): number {
  if (!/^[1-9]\d{0,8}$/.test(value))
    throw queryProblem(name, 'INVALID_VALUE', `"${name}" is "${excerpt(value)}". Send a whole number from 1.`);
  return Number(value);
}
