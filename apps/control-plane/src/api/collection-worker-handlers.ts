import { collectionWorkerRoutes as routes } from '@drover/contracts';
import type { AssignmentQueries } from '../assignments/assignment-queries.js';
import { assignmentUnknown } from '../assignments/errors.js';
import type { ManualAssignments } from '../assignments/manual-assignments.js';
import type { WorkerRegistry } from '../assignments/worker-registry.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';

export interface CollectionWorkerHandlersOptions {
  readonly registry: WorkerRegistry;
  readonly queries: AssignmentQueries;
  readonly manual: ManualAssignments;
}

export function collectionWorkerHandlers(options: CollectionWorkerHandlersOptions): RouteHandler[] {
  return [...lifeHandlers(options), ...readingHandlers(options), ...manualHandlers(options)];
}

/** What workers call. */
function lifeHandlers({ registry }: CollectionWorkerHandlersOptions): RouteHandler[] {
  return [
    handle(routes.registerWorker, async ({ body }) => reply(200, await registry.register(body))),
    handle(routes.sendHeartbeat, async ({ params, body }) =>
      reply(200, await registry.heartbeat(params.workerId, body)),
    ),
    handle(routes.deregisterWorker, async ({ params, query }) =>
      reply(200, await registry.deregister(params.workerId, query.incarnation)),
    ),
  ];
}

function readingHandlers({ queries }: CollectionWorkerHandlersOptions): RouteHandler[] {
  return [
    handle(routes.listWorkers, async () => reply(200, { workers: await queries.workers() })),
    handle(routes.getWorker, async ({ params }) => reply(200, await queries.worker(params.workerId))),
    handle(routes.listWorkerAssignments, async ({ caller, params: { workerId } }) => {
      await queries.worker(workerId);
      return reply(200, { assignments: await queries.assignments(caller.tenantId, { workerId }) });
    }),
    handle(routes.listAssignments, async ({ caller, query }) =>
      reply(200, { assignments: await queries.assignments(caller.tenantId, query) }),
    ),
    handle(routes.getUnassignedCollections, async () => {
      const pools = await queries.unassigned();
      return reply(200, { count: Object.values(pools).reduce((sum, count) => sum + count, 0), pools });
    }),
  ];
}

function manualHandlers({ registry, manual, queries }: CollectionWorkerHandlersOptions): RouteHandler[] {
  return [
    handle(routes.drainWorker, async ({ params: { workerId } }) => {
      await registry.deregister(workerId);
      return reply(202, await queries.worker(workerId));
    }),
    handle(routes.assignCollection, async ({ caller: { tenantId }, body }) => {
      await manual.assign(tenantId, body);
      const [assignment] = await queries.assignments(tenantId, body);
      if (!assignment) throw assignmentUnknown(body); // ended again meanwhile
      return reply(202, assignment);
    }),
    handle(routes.unassignCollection, async ({ caller, body }) => {
      await manual.unassign(caller.tenantId, body);
      return reply(202, undefined);
    }),
  ];
}
