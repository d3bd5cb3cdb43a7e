import type { AssignmentStatus, CollectionWorkerStatus } from '@drover/contracts';

export interface WorkerFacts {
  readonly id: string;
  readonly status: CollectionWorkerStatus;
  readonly pool: string;
  /** Assignments that the worker takes at most. */
  readonly capacity: number;
  /** Takes collections of this tenant only. */
  readonly tenantAffinity?: string;
  readonly zone?: string;
  /** Has not answered orders for a while: it may be gone. It keeps what it serves, and gets nothing new. */
  readonly isSilent?: boolean;
}

export interface CollectionFacts {
  readonly id: string;
  readonly tenantId: string;
  readonly pool: string;
  /** Workers that serve the collection at the same time, as far as the pool has as many. */
  readonly replicas: number;
  /** CPU milliseconds per second of all its replicas together, smoothed. */
  readonly load: number;
}

export interface AssignmentFacts {
  readonly collectionId: string;
  readonly workerId: string;
  readonly status: AssignmentStatus;
  /** The worker whose assignment this one takes over once it is READY: a move. */
  readonly replaces?: string;
  /** Made by hand: it stays while its worker can serve. */
  readonly isManual?: boolean;
  /** Taken from the worker by hand: it leaves, and does not come back, also once it is REMOVED. */
  readonly isExcluded?: boolean;
  /** When the collection last moved: it does not move for balance again soon. */
  readonly assignedAtMs: number;
  /** Since when the worker has not been able to prepare the collection; also after that was given up. */
  readonly failedAtMs?: number;
}

export interface AssignmentPolicy {
  /** A pool is rebalanced when a worker is above (1 + tolerance) or below (1 - tolerance) of the mean load. */
  readonly tolerance: number;
  /** Rebalancing stops inside this part of the mean: less than `tolerance`, so that it does not start again at once. */
  readonly settled: number;
  /** Moves for balance under way at a time in a pool, as a part of its assignments; two at least. */
  readonly movingShare: number;
  /** A collection that was assigned this recently is not moved for balance. */
  readonly restMs: number;
  /** Load of one replica at most, in CPU milliseconds per second: a hotter collection gets more replicas. */
  readonly replicaLoad: number;
  /** Load of an idle collection, so that idle collections are spread by their number. */
  readonly idleLoad: number;
  /** Whether collections of a tenant go to different workers, or to the same ones, where the load allows both. */
  readonly locality: 'spread' | 'together';
  /** A collection that a worker cannot prepare for this long is tried on another one; each further try takes twice as long. */
  readonly giveUpMs: number;
  /** Workers at most that a collection is tried on within the time that failures are remembered. */
  readonly maxTries: number;
}

export const defaultAssignmentPolicy: AssignmentPolicy = {
  tolerance: 0.1,
  settled: 0.06,
  movingShare: 0.05,
  restMs: 300_000,
  replicaLoad: 500,
  idleLoad: 1,
  locality: 'spread',
  giveUpMs: 2_000,
  maxTries: 5,
};

export interface AssignmentStep {
  readonly collectionId: string;
  readonly workerId: string;
}

export interface AssignmentPlan {
  /** New assignments; one with `replaces` is a move. */
  readonly assign: readonly (AssignmentStep & { readonly replaces?: string })[];
  /** Assignments that serve no new request from now on. */
  readonly drain: readonly AssignmentStep[];
  /** Assignments of workers and collections that are gone. */
  readonly remove: readonly AssignmentStep[];
  /** Those of the drained assignments that their workers could not prepare. */
  readonly failed: readonly AssignmentStep[];
  /** Collections that lack replicas because no worker of their pool fits. */
  readonly unassigned: readonly { readonly collectionId: string; readonly pool: string; readonly missing: number }[];
}

export const defaultPool = 'default';

/**
 * Returns the pool of a tenant: the configured one; otherwise that of the workers that serve this tenant only; otherwise the pool that
 * tenants share. A tenant never gets workers of another pool, also when its own has none.
 */
export function tenantPools(
  workers: readonly Pick<WorkerFacts, 'pool' | 'tenantAffinity'>[],
  configured: ReadonlyMap<string, string>,
): (tenantId: string) => string {
  const pools = new Map<string, string>();
  for (const { pool, tenantAffinity: tenant } of workers) {
    if (tenant === undefined) continue;
    const other = pools.get(tenant);
    if (other === undefined || pool < other) pools.set(tenant, pool);
  }
  return (tenantId) => configured.get(tenantId) ?? pools.get(tenantId) ?? defaultPool;
}
