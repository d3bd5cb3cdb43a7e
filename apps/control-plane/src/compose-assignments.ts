import type { Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { Clock, ComputedMetric, Lifecycle, Observe } from '@drover/service-kit';
import { collectionWorkerHandlers } from './api/collection-worker-handlers.js';
import { defaultAssignmentPolicy } from './assignments/assignment-facts.js';
import { assignmentMetrics } from './assignments/assignment-metrics.js';
import { runAssignmentPass } from './assignments/assignment-pass.js';
import { AssignmentQueries } from './assignments/assignment-queries.js';
import { AssignmentRunner } from './assignments/assignment-runner.js';
import { ManualAssignments } from './assignments/manual-assignments.js';
import type { AssignmentObservation } from './assignments/observations.js';
import { WorkerRegistry } from './assignments/worker-registry.js';
import type { ControlPlaneConfig } from './config.js';
import type { RouteHandler } from './http/route-handler.js';

export interface AssignmentParts {
  readonly database: Database;
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly observe: Observe<AssignmentObservation>;
}

/** Collection workers, and which of them serves which collection. */
export interface ComposedAssignments {
  /** Definitions are published here: a new collection is assigned as soon as its transaction has committed. */
  readonly definitionsBus: Pick<EventBus, 'publish'>;
  readonly metrics: readonly ComputedMetric[];
  readonly life: Lifecycle;
  readonly handlers: readonly RouteHandler[];
}

const longestIntervalMs = 5_000;
const longestSilenceMs = 3_000;
/** A worker that is OFFLINE is listed for an hour. */
const forgetMs = 3_600_000;

export function composeAssignments(
  config: ControlPlaneConfig,
  { database, bus, clock, observe }: AssignmentParts,
): ComposedAssignments {
  const intervalMs = Math.min(longestIntervalMs, Math.ceil(config.workerStaleMs / 3));
  const passOptions = {
    database,
    bus,
    policy: {
      ...defaultAssignmentPolicy,
      locality: config.collectionPlacement,
      restMs: config.collectionRestMs,
    },
    replicas: config.collectionReplicas,
    staleMs: config.workerStaleMs,
    silentMs: Math.min(longestSilenceMs, intervalMs),
    awayMs: 3 * intervalMs,
    forgetMs,
    pools: config.tenantPools,
  };
  const runner = new AssignmentRunner({ pass: () => runAssignmentPass(passOptions), intervalMs, clock, observe });
  const wake = (): void => runner.wake();
  const registry = new WorkerRegistry({ database, bus, heartbeatMs: config.workerHeartbeatMs, wake, observe });
  const manual = new ManualAssignments({ database, bus, pools: config.tenantPools, wake });
  return {
    definitionsBus: {
      publish: async (events, within) => {
        await bus.publish(events, within);
        if (within) within.afterCommit(wake);
        else wake();
      },
    },
    metrics: assignmentMetrics(() => runner.last),
    life: runner,
    handlers: collectionWorkerHandlers({ registry, manual, queries: new AssignmentQueries(database) }),
  };
}
