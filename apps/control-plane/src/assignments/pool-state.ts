import type { AssignmentFacts, AssignmentPolicy, CollectionFacts, WorkerFacts } from './assignment-facts.js';

/** A worker with what the plan gives it: mutable while one plan is made. */
export class PlannedWorker {
  readonly facts: WorkerFacts;
  /** Load and number of what it serves after the plan is carried out. */
  load = 0;
  /** Every assignment that takes room now, also one that is about to leave. */
  held = 0;
  readonly #ofTenants = new Map<string, number>();

  constructor(facts: WorkerFacts) {
    this.facts = facts;
  }

  ofTenant(tenantId: string): number {
    return this.#ofTenants.get(tenantId) ?? 0;
  }

  add(collection: CollectionFacts, load: number): void {
    this.load += load;
    this.#ofTenants.set(collection.tenantId, this.ofTenant(collection.tenantId) + 1);
  }

  take(collection: CollectionFacts, load: number): void {
    this.load -= load;
    this.#ofTenants.set(collection.tenantId, this.ofTenant(collection.tenantId) - 1);
  }

  /** May it get this collection at all? Hard conditions never become a score. */
  fits(collection: CollectionFacts): boolean {
    const { status, capacity, tenantAffinity } = this.facts;
    return (
      status === 'READY' &&
      this.held < capacity &&
      (tenantAffinity === undefined || tenantAffinity === collection.tenantId)
    );
  }
}

/** A collection with the assignments that the plan keeps, and those that leave as soon as others can serve. */
export interface PlacedCollection {
  readonly facts: CollectionFacts;
  /** Replicas that the plan aims at. */
  readonly wanted: number;
  /** Load of each replica. */
  readonly share: number;
  readonly kept: AssignmentFacts[];
  readonly leaving: AssignmentFacts[];
  /** Workers that it was taken from by hand. */
  readonly excluded: ReadonlySet<string>;
}

export interface WorkerPoolState {
  readonly workers: ReadonlyMap<string, PlannedWorker>;
  readonly collections: readonly PlacedCollection[];
  readonly meanLoad: number;
}

/** Sorts the assignments of one pool into those that stay and those that leave, and adds up the load of each worker. */
export function poolState(
  facts: readonly WorkerFacts[],
  collections: readonly CollectionFacts[],
  assignmentsOf: (collectionId: string) => readonly AssignmentFacts[],
  { idleLoad, replicaLoad }: AssignmentPolicy,
): WorkerPoolState {
  const workers = new Map(facts.map((worker) => [worker.id, new PlannedWorker(worker)]));
  const ready = facts.filter(({ status }) => status === 'READY');
  const fitting = countByTenant(ready);
  const loadOf = ({ load }: CollectionFacts): number => Math.max(load, idleLoad);
  const meanLoad = collections.reduce((sum, collection) => sum + loadOf(collection), 0) / Math.max(1, ready.length);
  const planned = collections.map((collection): PlacedCollection => {
    const own = assignmentsOf(collection.id);
    const excluded = new Set(own.filter(({ isExcluded }) => isExcluded).map(({ workerId }) => workerId));
    const closed = [...excluded].filter((id) => workers.get(id)?.facts.status === 'READY').length;
    const replicas = Math.max(collection.replicas, Math.ceil(collection.load / replicaLoad));
    const wanted = Math.max(1, Math.min(fitting(collection.tenantId) - closed, replicas));
    const share = loadOf(collection) / wanted;
    const replaced = new Set(own.map(({ replaces }) => replaces));
    const [kept, leaving]: [AssignmentFacts[], AssignmentFacts[]] = [[], []];
    for (const assignment of own) {
      const worker = workers.get(assignment.workerId);
      if (!worker || assignment.status === 'REMOVED') continue;
      worker.held += 1;
      if (assignment.status === 'DRAINING') continue;
      const { status, tenantAffinity } = worker.facts;
      const belongs = tenantAffinity === undefined || tenantAffinity === collection.tenantId;
      const { workerId, isExcluded } = assignment;
      const stays = status !== 'DRAINING' && belongs && !isExcluded && !replaced.has(workerId);
      (stays ? kept : leaving).push(assignment);
      if (stays) worker.add(collection, share);
    }
    return { facts: collection, wanted, share, kept, leaving, excluded };
  });
  return { workers, collections: planned, meanLoad };
}

/** Counts the workers that may serve collections of a tenant. */
function countByTenant(workers: readonly WorkerFacts[]): (tenantId: string) => number {
  const dedicated = new Map<string, number>();
  let shared = 0;
  for (const { tenantAffinity: tenant } of workers) {
    if (tenant === undefined) shared += 1;
    else dedicated.set(tenant, (dedicated.get(tenant) ?? 0) + 1);
  }
  return (tenantId) => shared + (dedicated.get(tenantId) ?? 0);
}
