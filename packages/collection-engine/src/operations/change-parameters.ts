import { nearestName } from '@drover/service-kit';
import { eventsSwitchedOff } from '../events/change-errors.js';
import { parseSince, type Since } from '../events/read-since.js';
import type { CollectionModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import type { RecordLimits, RecordContext } from '../request/record-context.js';
import { limitExceeded, operationNotOffered, queryInvalid, recordAccessDenied } from '../request/request-errors.js';

/** Throws if the caller may not read changes of a collection, or if it has none. */
export function changesOf({ access }: Pick<RecordContext, 'access'>, collection: CollectionModel): void {
  if (!access.mayRead(collection)) throw recordAccessDenied({ collection: collection.name, right: 'read' });
  if (!collection.api.list) throw operationNotOffered({ collection: collection.name, operation: 'list' });
  if (!collection.hasEvents) throw eventsSwitchedOff({ collection: collection.name });
}

interface ChangeParameters {
  readonly since: Since;
  /** Undefined if it is not given. */
  readonly size: number | undefined;
}

/** Reads the parameters of a change feed; throws INVALID_QUERY with all problems. */
export function readChangeParameters(
  query: string,
  known: readonly string[],
  limits: Pick<RecordLimits, 'pageSize'>,
): ChangeParameters {
  const given = new URLSearchParams(query);
  const problems: RecordProblem[] = [];
  const report = (parameter: string, detail: string): void =>
    void problems.push({ code: 'INVALID_QUERY', detail, source: { parameter } });
  for (const name of new Set(given.keys())) {
    if (known.includes(name)) continue;
    const similar = nearestName(name, known);
    report(
      name,
      `The parameter "${name}" is unknown.${similar === undefined ? ` Known are ${known.join(', ')}.` : ` Did you mean "${similar}"?`}`,
    );
  }
  const sinceText = given.get('since') ?? undefined;
  const since = parseSince(sinceText);
  if (!since) problems.push(sinceInvalid(sinceText));
  const sizeText = given.get('page[size]') ?? undefined;
  const size = sizeText === undefined ? undefined : /^\d{1,9}$/.test(sizeText) ? Number(sizeText) : 0;
  if (size === 0)
    report('page[size]', `"page[size]" is "${sizeText}". Send a whole number from 1 to ${limits.pageSize}.`);
  if (problems.length > 0 || !since) throw queryInvalid({ problems });
  if (size !== undefined && size > limits.pageSize)
    throw limitExceeded({
      limit: 'changes per page',
      value: size,
      allowed: limits.pageSize,
      next: 'Ask for smaller pages.',
    });
  return { since, size };
}

export function sinceInvalid(text: string | undefined): RecordProblem {
  const detail = `"since" is "${text?.slice(0, 50)}". Send the position of a change, a time such as 2026-01-31T12:00:00Z, or "now".`;
  return { code: 'INVALID_QUERY', detail, source: { parameter: 'since' } };
}
