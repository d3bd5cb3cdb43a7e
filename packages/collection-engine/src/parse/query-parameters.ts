import { excerpt, queryProblem } from './query-problem.js';

/** One parameter of a query string: `filter[status][eq]=paid` has the family `filter` and the keys `status` and `eq`. */
export interface QueryParameter {
  /** As it was sent, decoded; errors name it. */
  readonly name: string;
  readonly family: string;
  readonly keys: readonly string[];
  readonly value: string;
}

const mostParameters = 1_000;
const mostKeys = 30;

/** Splits a query string. Throws INVALID_QUERY for names whose brackets do not match, and for the character NUL. */
export function readQueryParameters(query: string): QueryParameter[] {
  if (query === '') return [];
  const parameters: QueryParameter[] = [];
  for (const [name, value] of new URLSearchParams(query)) {
    if (parameters.length === mostParameters)
      throw queryProblem(excerpt(name), 'INVALID_SYNTAX', `The query has more than ${mostParameters} parameters.`);
    if (name.includes('\0') || value.includes('\0'))
      throw queryProblem(
        excerpt(name.replaceAll('\0', '')),
        'INVALID_VALUE',
        'A parameter contains the character NUL, which no stored text has. Remove it.',
      );
    parameters.push({ name, value, ...splitName(name) });
  }
  return parameters;
}

function splitName(name: string): { family: string; keys: string[] } {
  const open = name.indexOf('[');
  if (open === -1) return { family: name, keys: [] };
  const brackets = name.slice(open);
  if (!/^(?:\[[^[\]]*\])+$/.test(brackets))
    throw queryProblem(
      excerpt(name),
      'INVALID_SYNTAX',
      `The brackets of the parameter "${excerpt(name)}" do not match. Write it like filter[status][eq].`,
    );
  const keys = brackets.slice(1, -1).split('][');
  if (keys.length > mostKeys)
    throw queryProblem(excerpt(name), 'INVALID_SYNTAX', `The parameter has more than ${mostKeys} pairs of brackets.`);
  return { family: name.slice(0, open), keys };
}
