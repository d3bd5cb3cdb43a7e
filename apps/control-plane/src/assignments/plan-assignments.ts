import type {
  AssignmentFacts,
  AssignmentPlan,
  AssignmentPolicy,
  AssignmentStep,
  CollectionFacts,
  WorkerFacts,
} from './assignment-facts.js';
import { bestWorker } from './best-worker.js';
import {
  append,
  compareText,
  isOpen,
  poolState,
  type PlacedCollection,
  type PlannedWorker,
  type WorkerPoolState,
} from './pool-state.js';
import { rebalancingMoves } from './rebalancing-moves.js';

export interface AssignmentInput {
  readonly workers: readonly WorkerFacts[];
  readonly collections: readonly CollectionFacts[];
  /** Without those that are REMOVED, unless they are excluded. */
  readonly assignments: readonly AssignmentFacts[];
  readonly nowMs: number;
}

interface Steps {
  readonly assign: (AssignmentStep & { readonly replaces?: string })[];
  readonly drain: AssignmentStep[];
  readonly remove: AssignmentStep[];
  readonly failed: AssignmentStep[];
  readonly unassigned: { readonly collectionId: string; readonly pool: string; readonly missing: number }[];
}

/**
 * Decides which worker serves which collection. Assignments that may stay do stay; missing replicas go to the workers with the least
 * load; then a few collections move where a pool is out of balance. A move adds the new assignment first: the old one drains once
 * the new one is READY. Two control planes with the same facts make the same plan.
 */
export function planAssignments(input: AssignmentInput, policy: AssignmentPolicy): AssignmentPlan {
  const { workers, collections, nowMs } = input;
  const alive = workers.filter(({ status }) => status !== 'OFFLINE' && status !== 'FAILED');
  const aliveIds = new Set(alive.map(({ id }) => id));
  const known = new Map(collections.map((collection) => [collection.id, collection]));
  const poolOf = new Map(alive.map(({ id, pool }) => [id, pool]));
  const isServed = new Set(alive.filter(isOpen).map(({ pool }) => pool));
  // Where no worker could take over, the control plane may be the part that is cut off: a worker that comes back goes on.
  const unreplaceable = new Set(
    workers.filter(({ status, pool }) => status === 'OFFLINE' && !isServed.has(pool)).map(({ id }) => id),
  );
  const steps: Steps = { assign: [], drain: [], remove: [], failed: [], unassigned: [] };
  const current = new Map<string, AssignmentFacts[]>();
  for (const assignment of input.assignments) {
    const { collectionId, workerId } = assignment;
    const isGone = assignment.status === 'REMOVED';
    if (!aliveIds.has(workerId)) {
      if (!isGone && !unreplaceable.has(workerId)) steps.remove.push({ collectionId, workerId });
    } else if (known.has(collectionId)) append(current, collectionId, assignment);
    else if (!isGone && assignment.status !== 'DRAINING') steps.drain.push({ collectionId, workerId });
  }
  for (const [pool, own] of byPool(collections)) {
    const members = alive.filter((worker) => worker.pool === pool);
    const state = poolState(members, own, (id) => current.get(id) ?? [], policy);
    const stuck = placeMissing(state, pool, policy, steps);
    retire(state, stuck, steps);
    makeRoom(state, stuck, steps);
    giveUpFailing(state, policy, nowMs, steps);
    steps.assign.push(...rebalancingMoves(state, policy, nowMs));
  }
  drainForeign(current, known, poolOf, steps);
  return steps;
}

/** A collection that lacks replicas, with what its next one has to avoid. */
interface Lacking {
  readonly collection: PlacedCollection;
  readonly taken: Set<string>;
  readonly zones: Set<string | undefined>;
  /** Workers whose assignments a new one takes over. */
  readonly unreplaced: string[];
  count: number;
}

/**
 * Gives each collection the replicas that it lacks: no collection gets a second one before each has one; among equals the heaviest comes
 * first. Returns the collections for which no worker has room.
 */
function placeMissing(
  state: WorkerPoolState,
  pool: string,
  policy: AssignmentPolicy,
  steps: Steps,
): Set<PlacedCollection> {
  const lacking = state.collections
    .filter((collection) => countOf(state, collection) < collection.attainable)
    .toSorted((a, b) => b.share - a.share || compareText(a.facts.id, b.facts.id))
    .map((collection) => toLacking(state, collection));
  const most = Math.max(0, ...lacking.map(({ collection }) => collection.attainable));
  const stuck = new Set<PlacedCollection>();
  for (let level = 0; level < most; level += 1)
    for (const one of lacking) {
      const { collection } = one;
      if (one.count > level || level >= collection.attainable || stuck.has(collection)) continue;
      if (!placeOne(state, one, policy, steps)) stuck.add(collection);
    }
  for (const { collection, count } of lacking)
    if (stuck.has(collection))
      steps.unassigned.push({ collectionId: collection.facts.id, pool, missing: collection.attainable - count });
  return stuck;
}

/**
 * The replicas that count: without a route, a collection does not wait for a worker that starts; it never waits for one that does not
 * answer.
 */
function countOf({ workers }: WorkerPoolState, { kept, leaving }: PlacedCollection): number {
  const isRouted = [...kept, ...leaving].some(({ status }) => status === 'READY');
  return kept.filter(({ workerId, status }) => {
    const worker = workers.get(workerId)?.facts;
    if (status === 'READY' || !worker) return true;
    return isOpen(worker) || (isRouted && !worker.isSilent);
  }).length;
}

function toLacking(state: WorkerPoolState, collection: PlacedCollection): Lacking {
  const { kept, leaving, excluded } = collection;
  return {
    collection,
    taken: new Set([...excluded, ...[...kept, ...leaving].map(({ workerId }) => workerId)]),
    zones: new Set(kept.map(({ workerId }) => state.workers.get(workerId)?.facts.zone)),
    unreplaced: leaving
      .map(({ workerId }) => workerId)
      .filter((workerId) => !kept.some(({ replaces }) => replaces === workerId)),
    count: countOf(state, collection),
  };
}

function placeOne(state: WorkerPoolState, lacking: Lacking, policy: AssignmentPolicy, steps: Steps): boolean {
  const { collection, taken, unreplaced, zones } = lacking;
  let best = untriedWorker(state, lacking, policy);
  if (!best && collection.failed.size > 0) best = bestWorker(state, collection, policy, lacking);
  if (!best) return false;
  const { facts, share } = collection;
  const replaces = unreplaced.pop();
  steps.assign.push({ collectionId: facts.id, workerId: best.facts.id, ...(replaces !== undefined && { replaces }) });
  best.held += 1;
  best.add(facts, share);
  taken.add(best.facts.id);
  zones.add(best.facts.zone);
  lacking.count += 1;
  return true;
}

/** The best worker of those that have not failed to prepare the collection. */
function untriedWorker(
  state: WorkerPoolState,
  { collection, taken, zones }: Lacking,
  policy: AssignmentPolicy,
): PlannedWorker | undefined {
  const { failed } = collection;
  const avoided = failed.size === 0 ? taken : new Set([...taken, ...failed]);
  return bestWorker(state, collection, policy, { taken: avoided, zones });
}

/**
 * Takes collections from workers that cannot prepare them. A move for balance is given up: the collection stays where it is served.
 * Otherwise the collection is tried on another worker, if there is one that has not failed; each try waits twice as long as the one
 * before, and after `maxTries` the workers that have the collection go on trying.
 */
function giveUpFailing(state: WorkerPoolState, policy: AssignmentPolicy, nowMs: number, steps: Steps): void {
  for (const collection of state.collections) {
    const { facts, kept, leaving, failed } = collection;
    const failing = kept.filter(({ failedAtMs, status }) => failedAtMs !== undefined && status !== 'READY');
    const [first] = failing.toSorted((a, b) => (a.failedAtMs ?? 0) - (b.failedAtMs ?? 0));
    const tries = failing.length + failed.size;
    if (!first || nowMs - (first.failedAtMs ?? nowMs) < policy.giveUpMs * 2 ** (tries - 1)) continue;
    const step = { collectionId: facts.id, workerId: first.workerId };
    if (!leaving.some((from) => from.workerId === first.replaces && mayStay(state, collection, from))) {
      const lacking = toLacking(state, collection);
      const next = tries < policy.maxTries && untriedWorker(state, lacking, policy);
      if (!next) continue;
      next.held += 1;
      next.add(facts, collection.share);
      steps.assign.push({ ...step, workerId: next.facts.id, replaces: first.workerId });
    }
    state.workers.get(first.workerId)?.take(facts, collection.share);
    steps.drain.push(step);
    steps.failed.push(step);
  }
}

/** Whether an assignment leaves only because another one was to take over. */
function mayStay(
  { workers }: WorkerPoolState,
  { facts, excluded }: PlacedCollection,
  { workerId, status }: AssignmentFacts,
): boolean {
  return status === 'READY' && !excluded.has(workerId) && workers.get(workerId)?.wouldFit(facts) === true;
}

/** Drains replicas that their collections can do without, one for each collection that no worker has room for. */
function makeRoom(state: WorkerPoolState, stuck: ReadonlySet<PlacedCollection>, steps: Steps): void {
  const urgent = [...stuck].filter((collection) => countOf(state, collection) === 0);
  if (urgent.length === 0) return;
  const coming = new Map([...state.workers.values()].map((worker) => [worker, worker.draining]));
  const spare = state.collections
    .filter(({ serving }) => serving.length > 1)
    .toSorted((a, b) => a.share - b.share || compareText(a.facts.id, b.facts.id));
  for (const { facts } of urgent) {
    const next = [...coming].find(([worker, rooms]) => rooms > 0 && worker.wouldFit(facts));
    if (next) coming.set(next[0], next[1] - 1);
    else giveUpOne(state, facts, spare, steps);
  }
}

function giveUpOne(state: WorkerPoolState, facts: CollectionFacts, spare: PlacedCollection[], steps: Steps): void {
  for (const [index, collection] of spare.entries()) {
    const given = collection.serving.find(
      ({ workerId, isManual }) => !isManual && state.workers.get(workerId)?.wouldFit(facts),
    );
    if (!given) continue;
    giveUp(state, collection, given, steps);
    spare.splice(index, 1); // at most one in a plan
    return;
  }
}

function giveUp(state: WorkerPoolState, collection: PlacedCollection, given: AssignmentFacts, steps: Steps): void {
  const { facts, share, kept, serving } = collection;
  steps.drain.push({ collectionId: facts.id, workerId: given.workerId });
  state.workers.get(given.workerId)?.take(facts, share);
  for (const list of [kept, serving]) list.splice(list.indexOf(given), 1);
}

/** Drains what others have taken over, and replicas above the wanted number. */
function retire(state: WorkerPoolState, stuck: ReadonlySet<PlacedCollection>, steps: Steps): void {
  for (const collection of state.collections) {
    const { facts, kept, serving, leaving, wanted, attainable } = collection;
    const isEnough = serving.length >= attainable || (stuck.has(collection) && serving.length === kept.length);
    for (const { workerId, status } of leaving) {
      const isTakenOver = isEnough || status !== 'READY' || serving.some(({ replaces }) => replaces === workerId);
      if (serving.length > 0 && isTakenOver) steps.drain.push({ collectionId: facts.id, workerId });
    }
    const byLoad = serving
      .filter(({ isManual }) => !isManual)
      .toSorted((a, b) => loadOf(state, b) - loadOf(state, a) || compareText(a.workerId, b.workerId));
    for (const given of byLoad.slice(0, Math.max(0, serving.length - wanted))) giveUp(state, collection, given, steps);
  }
}

const loadOf = ({ workers }: WorkerPoolState, { workerId }: AssignmentFacts): number =>
  workers.get(workerId)?.load ?? 0;

/** Drains assignments on workers of another pool once the collection is served in its own. */
function drainForeign(
  current: ReadonlyMap<string, readonly AssignmentFacts[]>,
  known: ReadonlyMap<string, CollectionFacts>,
  poolOf: ReadonlyMap<string, string>,
  steps: Steps,
): void {
  for (const [collectionId, own] of current) {
    const pool = known.get(collectionId)?.pool;
    const isHome = ({ workerId }: AssignmentFacts): boolean => poolOf.get(workerId) === pool;
    const isServed = own.some((assignment) => isHome(assignment) && assignment.status === 'READY');
    if (!isServed) continue;
    for (const assignment of own)
      if (!isHome(assignment) && assignment.status !== 'DRAINING' && assignment.status !== 'REMOVED')
        steps.drain.push({ collectionId, workerId: assignment.workerId });
  }
}

function byPool(collections: readonly CollectionFacts[]): Map<string, CollectionFacts[]> {
  const pools = new Map<string, CollectionFacts[]>();
  for (const collection of collections) append(pools, collection.pool, collection);
  return pools;
}
