import type { QueryParameter } from './query-parameters.js';
import { excerpt, queryProblem, suggestion } from './query-problem.js';

export const aggregateFunctions = ['count', 'countDistinct', 'sum', 'avg', 'min', 'max'] as const;
export type AggregateFunction = (typeof aggregateFunctions)[number];

/** `agg[total]=sum` or `agg[total]=sum:revenue`: one value of each group. */
export interface AggregateTerm {
  /** Undefined for `agg[*]=count`. */
  readonly field: string | undefined;
  readonly function: AggregateFunction;
  /** Name in the response, in `having` and in `sort`. */
  readonly alias: string;
  readonly parameter: string;
}

export const timeUnits = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
export type TimeUnit = (typeof timeUnits)[number];

/** `group=status,placedAt:month`: a field that records are grouped by. */
export interface GroupTerm {
  readonly field: string;
  /** Times are cut to this unit. */
  readonly unit: TimeUnit | undefined;
}

const mostTerms = 20;

/** Reads `agg[field]=function[:alias],…`. The alias is `function_field`, or `count` for all records. */
export function parseAggregates(parameters: readonly QueryParameter[]): AggregateTerm[] {
  const terms = parameters.flatMap((parameter) => {
    const { name, keys, value } = parameter;
    const [field] = keys;
    if (field === undefined || keys.length > 1 || field === '')
      throw queryProblem(excerpt(name), 'INVALID_SYNTAX', 'Write aggregates like agg[total]=sum or agg[*]=count.');
    return value.split(',').map((text) => toTerm(field, text.trim(), name));
  });
  if (terms.length > mostTerms)
    throw queryProblem(
      'agg',
      'INVALID_SYNTAX',
      `The request has ${terms.length} aggregates; the limit is ${mostTerms}.`,
    );
  return terms;
}

function toTerm(field: string, text: string, parameter: string): AggregateTerm {
  const [given = '', alias, ...rest] = text.split(':');
  const found = aggregateFunctions.find((each) => each === given);
  if (!found)
    throw queryProblem(
      excerpt(parameter),
      'INVALID_VALUE',
      `There is no aggregate function "${excerpt(given)}".${suggestion(given, aggregateFunctions)}`,
    );
  if (rest.length > 0 || alias === '' || (alias !== undefined && alias.length > 63))
    throw queryProblem(excerpt(parameter), 'INVALID_SYNTAX', 'Write an alias like agg[total]=sum:revenue.');
  if (field === '*' && found !== 'count')
    throw queryProblem(excerpt(parameter), 'INVALID_VALUE', `agg[*] takes "count". Name a field for "${found}".`);
  return {
    field: field === '*' ? undefined : field,
    function: found,
    alias: alias ?? (field === '*' ? 'count' : `${found}_${field}`),
    parameter,
  };
}

export function parseGroups(parameters: readonly QueryParameter[]): GroupTerm[] {
  const [parameter, second] = parameters;
  if (!parameter) return [];
  if (second || parameter.keys.length > 0)
    throw queryProblem(excerpt(parameter.name), 'INVALID_SYNTAX', 'Send "group" once: group=status,customer.');
  const terms = parameter.value.split(',').map((text) => {
    const [field = '', given, ...rest] = text.trim().split(':');
    const unit = timeUnits.find((each) => each === given);
    if (field === '' || rest.length > 0)
      throw queryProblem('group', 'INVALID_SYNTAX', `"${excerpt(text)}" is not a field to group by.`);
    if (given !== undefined && !unit)
      throw queryProblem(
        'group',
        'INVALID_VALUE',
        `There is no unit "${excerpt(given)}".${suggestion(given, timeUnits)}`,
      );
    return { field, unit };
  });
  if (terms.length > mostTerms)
    throw queryProblem(
      'group',
      'INVALID_SYNTAX',
      `The request groups by ${terms.length} fields; the limit is ${mostTerms}.`,
    );
  return terms;
}
