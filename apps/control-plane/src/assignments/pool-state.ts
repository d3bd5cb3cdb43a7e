import type { AssignmentFacts, AssignmentPolicy, CollectionFacts, WorkerFacts } from './assignment-facts.js';

/** FNV-1a. */
export function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

/** How many collections of each tenant each worker has: one list for a tenant, because a plan compares all workers for it. */
export class TenantCounts {
  readonly #workers: number;
  readonly #counts = new Map<string, Int32Array>();

  constructor(workers: number) {
    this.#workers = workers;
  }

  /** By the index of the worker. */
  of(tenantId: string): Int32Array {
    let counts = this.#counts.get(tenantId);
    if (!counts) this.#counts.set(tenantId, (counts = new Int32Array(this.#workers)));
    return counts;
  }
}

/** A worker with what the plan gives it: mutable while one plan is made. */
export class PlannedWorker {
  readonly facts: WorkerFacts;
  /** In the pool. */
  readonly index: number;
  /** Of its id. */
  readonly hash: number;
  readonly #tenants: TenantCounts;
  /** Load and number of what it serves after the plan is carried out. */
  load = 0;
  /** Every assignment that takes room now, also one that is about to leave. */
  held = 0;
  /** Those of them that are given up already. */
  draining = 0;

  constructor(facts: WorkerFacts, index: number, tenants: TenantCounts) {
    this.facts = facts;
    this.index = index;
    this.hash = textHash(facts.id);
    this.#tenants = tenants;
  }

  add({ tenantId }: CollectionFacts, load: number): void {
    this.load += load;
    const counts = this.#tenants.of(tenantId);
    counts[this.index] = (counts[this.index] ?? 0) + 1;
  }

  take({ tenantId }: CollectionFacts, load: number): void {
    this.load -= load;
    const counts = this.#tenants.of(tenantId);
    counts[this.index] = (counts[this.index] ?? 0) - 1;
  }

  /** May it get this collection at all? Hard conditions never become a score. */
  fits(collection: CollectionFacts): boolean {
    return this.held < this.facts.capacity && this.wouldFit(collection);
  }

  /** Whether it could get the collection if it had room. */
  wouldFit({ tenantId }: CollectionFacts): boolean {
    const { tenantAffinity } = this.facts;
    return isOpen(this.facts) && (tenantAffinity === undefined || tenantAffinity === tenantId);
  }
}

/** Whether a worker takes new collections. */
export const isOpen = ({ status, isSilent }: WorkerFacts): boolean => status === 'READY' && !isSilent;

/** A collection with the assignments that the plan keeps, and those that leave as soon as others can serve. */
export interface PlacedCollection {
  readonly facts: CollectionFacts;
  /** Replicas that the plan aims at: workers that start count, so that a restart moves nothing. */
  readonly wanted: number;
  /** Replicas that workers which are READY can have now. */
  readonly attainable: number;
  /** Load of each replica. */
  readonly share: number;
  readonly kept: AssignmentFacts[];
  /** Those of them that requests are sent to, and whose workers answer. */
  readonly serving: AssignmentFacts[];
  readonly leaving: AssignmentFacts[];
  /** Workers that it was taken from by hand. */
  readonly excluded: ReadonlySet<string>;
  /** Workers that could not prepare it, and do not have it any more: others are tried first. */
  readonly failed: ReadonlySet<string>;
}

export interface WorkerPoolState {
  readonly workers: ReadonlyMap<string, PlannedWorker>;
  /** The same workers. */
  readonly members: readonly PlannedWorker[];
  readonly tenants: TenantCounts;
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
  const tenants = new TenantCounts(facts.length);
  const members = facts.map((worker, index) => new PlannedWorker(worker, index, tenants));
  const workers = new Map(members.map((worker) => [worker.facts.id, worker]));
  const ready = facts.filter(isOpen);
  const readyFor = countByTenant(ready);
  const openFor = countByTenant(facts.filter(({ status }) => status === 'READY' || status === 'STARTING'));
  const isOpenOf = (id: string): boolean => {
    const worker = workers.get(id);
    return worker !== undefined && isOpen(worker.facts);
  };
  const loadOf = ({ load }: CollectionFacts): number => Math.max(load, idleLoad);
  const meanLoad = collections.reduce((sum, collection) => sum + loadOf(collection), 0) / Math.max(1, ready.length);
  const planned = collections.map((collection): PlacedCollection => {
    const own = assignmentsOf(collection.id);
    const excluded = new Set(own.filter(({ isExcluded }) => isExcluded).map(({ workerId }) => workerId));
    const closed = [...excluded].filter((id) => isOpenOf(id)).length;
    const replicas = Math.max(collection.replicas, Math.ceil(collection.load / replicaLoad));
    const replicasOf = (count: number): number => Math.max(1, Math.min(replicas, count - closed));
    const wanted = replicasOf(openFor(collection.tenantId));
    const attainable = replicasOf(readyFor(collection.tenantId));
    const share = loadOf(collection) / wanted;
    const { kept, leaving } = sorted(collection, own, workers);
    for (const { workerId } of kept) workers.get(workerId)?.add(collection, share);
    const serving = kept.filter(({ status, workerId }) => status === 'READY' && isOpenOf(workerId));
    const failed = new Set(own.filter(hasFailed).map(({ workerId }) => workerId));
    return { facts: collection, wanted, attainable, share, kept, serving, leaving, excluded, failed };
  });
  return { workers, members, tenants, collections: planned, meanLoad };
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

function sorted(
  collection: CollectionFacts,
  own: readonly AssignmentFacts[],
  workers: ReadonlyMap<string, PlannedWorker>,
): { readonly kept: AssignmentFacts[]; readonly leaving: AssignmentFacts[] } {
  const [kept, leaving]: [AssignmentFacts[], AssignmentFacts[]] = [[], []];
  for (const assignment of own) {
    const worker = workers.get(assignment.workerId);
    if (!worker || assignment.status === 'REMOVED') continue;
    worker.held += 1;
    if (assignment.status === 'DRAINING') {
      worker.draining += 1;
      continue;
    }
    const { status, tenantAffinity } = worker.facts;
    const belongs = tenantAffinity === undefined || tenantAffinity === collection.tenantId;
    const stays = status !== 'DRAINING' && belongs && !assignment.isExcluded && !isReplaced(assignment, own);
    (stays ? kept : leaving).push(assignment);
  }
  return { kept, leaving };
}

/** Whether the worker has given up what it could not prepare. */
const hasFailed = ({ failedAtMs, status }: AssignmentFacts): boolean =>
  failedAtMs !== undefined && (status === 'REMOVED' || status === 'DRAINING');

/**
 * Whether another assignment takes over from this one. One that was made after its replacement is a new one: that move has ended long
 * ago. So has one whose replacement is given up.
 */
function isReplaced({ workerId, assignedAtMs }: AssignmentFacts, own: readonly AssignmentFacts[]): boolean {
  return own.some(
    ({ replaces, status, assignedAtMs: madeAtMs }) =>
      replaces === workerId && status !== 'REMOVED' && status !== 'DRAINING' && madeAtMs >= assignedAtMs,
  );
}

export function append<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

export const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
