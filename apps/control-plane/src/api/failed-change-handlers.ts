import type { Caller, FailedChange, FailedChanges, FailedChangeSelection } from '@drover/collection-engine';
import { defineError, failedChangeRoutes, type FailedChangesChosen, type FailedChangeView } from '@drover/contracts';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';

const failedChangeNotFound = defineError<{ failedChangeId: string }>('FAILED_CHANGE_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `Your tenant has no failed change ${d.failedChangeId}. List failed changes with GET /control/failed-changes.`,
  help: 'The change was replayed or dropped, is older than a month, or is of a collection that your key does not cover.',
});

export const failedChangeErrors = { failedChangeNotFound };

/** Serves the changes that functions gave up, to keys that may read or write the records of their collections. */
export function failedChangeHandlers(failed: FailedChanges): RouteHandler[] {
  return [
    handle(failedChangeRoutes.listFailedChanges, async ({ caller, query }) => {
      const { limit = 50, before } = query;
      const page = { before: before === undefined ? Number.MAX_SAFE_INTEGER : Number(before), limit };
      const found = await failed.list(caller.tenantId, selectionOf(caller, 'records:read', query), page);
      const last = found.length === limit ? found.at(-1)?.id : undefined;
      return reply(200, { failedChanges: found.map(toView), ...(last !== undefined && { next: last }) });
    }),
    handle(failedChangeRoutes.getFailedChange, async ({ caller, params: { failedChangeId } }) => {
      const selection = selectionOf(caller, 'records:read', { ids: [failedChangeId] });
      const [found] = await failed.list(caller.tenantId, selection, { before: Number.MAX_SAFE_INTEGER, limit: 1 });
      if (!found) throw failedChangeNotFound({ failedChangeId });
      return reply(200, { ...toView(found), change: JSON.parse(found.json) as unknown });
    }),
    handle(failedChangeRoutes.replayFailedChanges, async ({ caller, body }) =>
      reply(202, { replaying: await failed.replay(caller.tenantId, selectionOf(caller, 'records:write', body)) }),
    ),
    handle(failedChangeRoutes.dropFailedChanges, async ({ caller, body }) =>
      reply(200, { dropped: await failed.drop(caller.tenantId, selectionOf(caller, 'records:write', body)) }),
    ),
  ];
}

/** Limits what was asked for to the collections that a scope of the key covers. */
function selectionOf(
  { scopes }: Caller,
  scope: 'records:read' | 'records:write',
  { ids, collection, application, function: functionName }: FailedChangesChosen,
): FailedChangeSelection {
  const prefix = `${scope}:`;
  const covered = scopes.includes(scope)
    ? undefined
    : scopes.flatMap((held) => (held.startsWith(prefix) ? [held.slice(prefix.length)] : []));
  const collections =
    collection === undefined ? covered : (covered ?? [collection]).filter((one) => one === collection);
  return { ids, collections, application, functionName };
}

function toView(failed: FailedChange): FailedChangeView {
  const { id, application, collection, recordId, kind, reason, deliveries } = failed;
  return {
    id,
    state: failed.isReplaying ? 'replaying' : 'failed',
    application,
    function: failed.functionName,
    collection,
    recordId,
    position: String(failed.position),
    kind,
    reason,
    deliveries,
    failedAt: failed.failedAt.toISOString(),
  };
}
