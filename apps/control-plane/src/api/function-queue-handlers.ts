import { functionRoutes, type FunctionQueueState, type FunctionQueueStatus, type TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { partitionOf } from '@drover/ownership';
import type { Observe } from '@drover/service-kit';
import { functionUnknown } from '../executions/errors.js';
import type { QueueCommands } from '../executions/queries/queue-commands.js';
import { functionOfApplication, queueNotEmpty } from '../functions/errors.js';
import type { FunctionStore } from '../functions/function-store.js';
import type { FunctionObservation } from '../functions/observations.js';
import type { StoredFunctionCatalog } from '../functions/stored-function-catalog.js';
import { handle, reply, type Origin, type RouteHandler } from '../http/route-handler.js';
import type { PeerReplicas } from '../replicas/peer-replicas.js';
import type { FunctionRemovals } from './function-removals.js';

export interface FunctionQueueHandlersOptions {
  readonly store: Pick<FunctionStore, 'controlQueue'>;
  readonly catalog: Pick<StoredFunctionCatalog, 'find' | 'changed'>;
  readonly queues: Pick<QueueCommands, 'countsOf' | 'purge'>;
  readonly removals: Pick<FunctionRemovals, 'remove'>;
  readonly peers: Pick<PeerReplicas, 'atOwner'>;
  readonly observe: Observe<FunctionObservation>;
}

/**
 * Serves the queue of a function, and the removal of a function, which decides about its queue. The owner of the function answers: it
 * alone knows the calls.
 */
export function functionQueueHandlers(options: FunctionQueueHandlersOptions): RouteHandler[] {
  const { store, catalog, queues, removals, peers, observe } = options;

  const findOrRefuse = async (tenantId: TenantId, name: string): Promise<FunctionDefinition> => {
    const definition = await catalog.find(tenantId, name);
    if (!definition) throw functionUnknown({ name });
    return definition;
  };
  const statusOf = async (tenantId: TenantId, name: string): Promise<FunctionQueueStatus> => {
    const { queueControl, queueSize } = await findOrRefuse(tenantId, name);
    const { state = 'open', isRemoving: removing = false } = queueControl ?? {};
    return { function: name, state, removing, ...queues.countsOf(tenantId, name), queueSize };
  };
  const control = async (
    tenantId: TenantId,
    name: string,
    state: FunctionQueueState,
    isRemoving = false,
  ): Promise<FunctionQueueStatus> => {
    await store.controlQueue(await findOrRefuse(tenantId, name), { state, isRemoving });
    await catalog.changed(tenantId, name);
    observe({ kind: 'function.queue-changed', tenantId, name, state, isRemoving });
    return statusOf(tenantId, name);
  };
  const remove = async (tenantId: TenantId, name: string, queue: 'drain' | 'purge' | undefined) => {
    const definition = await findOrRefuse(tenantId, name);
    if (definition.discovered) throw functionOfApplication({ name, application: definition.discovered.application });
    const { running, ...others } = queues.countsOf(tenantId, name);
    const calls = others.waiting + others.retrying + others.scheduled;
    if (queue === 'drain' && calls + running > 0) return reply(202, await control(tenantId, name, 'draining', true));
    if (queue === 'purge') await queues.purge(tenantId, name);
    else if (calls > 0) throw queueNotEmpty({ name, calls });
    if (!(await removals.remove(tenantId, name))) throw functionUnknown({ name });
    return reply(204, undefined);
  };

  const toOwner = (method: string, { params: { name }, caller: { tenantId }, origin }: QueueRequest) => ({
    tenantId,
    name,
    partition: partitionOf(tenantId, name),
    request: { ...origin, method },
  });
  const controlRoute = (
    route: (typeof functionRoutes)['pauseFunctionQueue' | 'resumeFunctionQueue' | 'drainFunctionQueue'],
    state: FunctionQueueState,
  ): RouteHandler =>
    handle(route, (request) => {
      const { tenantId, name, partition, request: forwarded } = toOwner('POST', request);
      return peers.atOwner(partition, forwarded, async () => reply(200, await control(tenantId, name, state)));
    });

  return [
    handle(functionRoutes.getFunctionQueue, (request) => {
      const { tenantId, name, partition, request: forwarded } = toOwner('GET', request);
      return peers.atOwner(partition, forwarded, async () => reply(200, await statusOf(tenantId, name)));
    }),
    controlRoute(functionRoutes.pauseFunctionQueue, 'paused'),
    controlRoute(functionRoutes.resumeFunctionQueue, 'open'),
    controlRoute(functionRoutes.drainFunctionQueue, 'draining'),
    handle(functionRoutes.purgeFunctionQueue, (request) => {
      const { tenantId, name, partition, request: forwarded } = toOwner('POST', request);
      return peers.atOwner(partition, forwarded, async () => {
        const purged = await queues.purge(tenantId, name);
        // Calls may wait for a function that its application does not have any more.
        if (purged === 0) await findOrRefuse(tenantId, name);
        return reply(200, { function: name, purged });
      });
    }),
    handle(functionRoutes.deleteFunction, (request) => {
      const { tenantId, name, partition, request: forwarded } = toOwner('DELETE', request);
      return peers.atOwner(partition, forwarded, () => remove(tenantId, name, request.query.queue));
    }),
  ];
}

interface QueueRequest {
  readonly params: { readonly name: string };
  readonly caller: { readonly tenantId: TenantId };
  readonly origin: Origin;
}
