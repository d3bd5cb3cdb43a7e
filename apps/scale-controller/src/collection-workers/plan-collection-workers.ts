import type {
  CollectionFleetAction,
  CollectionFleetFacts,
  CollectionFleetPolicy,
  CollectionFleetState,
  CollectionPoolFacts,
  RegisteredWorker,
  WorkerInstance,
} from './collection-fleet-types.js';

/** Ids of the workers that a scale controller starts begin with this: a new leader recognises those whose process is gone. */
export const startedWorkerPrefix = 'collection-worker-s-';

/** Workers of `drover up` register this soon after a start: before, their absence is no reason to start others. */
const settleMs = 10_000;
/** A process that has not registered after so long is ended. */
const registerWithinMs = 60_000;
/** A worker that is OFFLINE or FAILED for so long is ended: it may have been paused, or the control plane away. */
const unfitMs = 30_000;
/** A drained worker runs on for so long: a plan that was made before it drained may still give it a collection. */
const drainedMs = 1_000;
/** A pool can do without a worker if the others then have at most this part of the target load: else it would soon come back. */
const spareShare = 0.5;

/** A worker that serves, or will soon. */
interface Member extends RegisteredWorker {
  readonly isOwn: boolean;
  /** Room that the last plan of the control plane did not know of. */
  readonly freshRoom: number;
}

export interface CollectionFleetPlan {
  readonly state: CollectionFleetState;
  readonly actions: readonly CollectionFleetAction[];
}

/**
 * Decides which collection workers to start, drain and end. It starts workers of a pool for replicas that no worker has room for, and
 * for load above the target; it drains one worker at a time that its pool has been able to do without for the idle time. It drains and
 * ends only workers that a scale controller has started.
 */
export function planCollectionWorkers(
  before: CollectionFleetState,
  facts: CollectionFleetFacts,
  policy: CollectionFleetPolicy,
): CollectionFleetPlan {
  const conditions = new Conditions(before.since, facts.nowMs);
  const rows = new Map(facts.workers.map((worker) => [worker.workerId, worker]));
  const instances = new Map(facts.instances.map((instance) => [instance.workerId, instance]));
  const tended = facts.instances.flatMap((one) => tend(one, rows.get(one.workerId), conditions) ?? []);
  const gone = facts.workers.filter((one) => isServing(one) && isStarted(one) && !instances.has(one.workerId));
  const drains = gone.map(({ workerId }) => ({ kind: 'drain' as const, workerId, cause: 'gone' as const }));
  const ending = new Set([...tended, ...drains].map(({ workerId }) => workerId));
  const members = membersOf(facts, instances, policy.capacity).filter(({ workerId }) => !ending.has(workerId));
  const sized = sizePools(members, facts, policy, conditions, before.beganMs);
  return {
    state: { beganMs: before.beganMs, since: conditions.held },
    actions: [...tended, ...drains, ...sized],
  };
}

/** Remembers since when conditions hold. */
class Conditions {
  readonly held = new Map<string, number>();
  readonly #before: ReadonlyMap<string, number>;
  readonly #nowMs: number;

  constructor(before: ReadonlyMap<string, number>, nowMs: number) {
    this.#before = before;
    this.#nowMs = nowMs;
  }

  /** Returns whether a condition has held for so long. */
  lasts(name: string, holds: boolean, forMs: number): boolean {
    if (!holds) return false;
    const sinceMs = this.#before.get(name) ?? this.#nowMs;
    this.held.set(name, sinceMs);
    return this.#nowMs - sinceMs >= forMs;
  }
}

/** What a process needs apart from the size of its pool. */
function tend(
  { workerId, state, hasFailed }: WorkerInstance,
  row: RegisteredWorker | undefined,
  conditions: Conditions,
): (CollectionFleetAction & { readonly workerId: string }) | undefined {
  const end = (cause: 'drained' | 'unregistered' | 'unfit') => ({ kind: 'end' as const, workerId, cause });
  const lasts = (name: string, holds: boolean, forMs: number): boolean =>
    conditions.lasts(`${name} ${workerId}`, holds, forMs);
  if (state === 'ended') {
    // The control plane would find out by the heartbeats, much later.
    if (row && isServing(row)) return { kind: 'drain', workerId, cause: 'gone' };
    return { kind: 'forget', workerId, hasFailed };
  }
  if (state === 'ending') return undefined;
  if (lasts('unregistered', row === undefined, registerWithinMs)) return end('unregistered');
  if (lasts('unfit', row?.status === 'OFFLINE' || row?.status === 'FAILED', unfitMs)) return end('unfit');
  if (lasts('drained', row?.status === 'DRAINING' && row.assigned === 0, drainedMs)) return end('drained');
  return undefined;
}

const isServing = ({ status }: RegisteredWorker): boolean => status === 'STARTING' || status === 'READY';
const isStarted = ({ workerId }: RegisteredWorker): boolean => workerId.startsWith(startedWorkerPrefix);

function membersOf(
  { workers, instances: all }: CollectionFleetFacts,
  instances: ReadonlyMap<string, WorkerInstance>,
  capacity: number,
): Member[] {
  const registered = new Set(workers.map(({ workerId }) => workerId));
  const coming = all
    .filter(({ workerId, state }) => !registered.has(workerId) && (state === 'starting' || state === 'running'))
    .map(({ workerId, pool }): Member => {
      const facts = { workerId, pool, status: 'STARTING' as const, capacity, assigned: 0, cpu: 0 };
      return { ...facts, isOwn: true, freshRoom: capacity };
    });
  const serving = workers.filter(isServing).map((worker): Member => {
    // A worker that was READY when the plan was made would not be empty while replicas are missing.
    const isFresh = worker.status === 'STARTING' || worker.assigned === 0;
    const isOwn = instances.has(worker.workerId);
    return { ...worker, isOwn, freshRoom: isFresh ? worker.capacity - worker.assigned : 0 };
  });
  return [...serving, ...coming];
}

function sizePools(
  members: readonly Member[],
  { pools, workers, instances, nowMs, mayStart }: CollectionFleetFacts,
  policy: CollectionFleetPolicy,
  conditions: Conditions,
  beganMs: number,
): CollectionFleetAction[] {
  const others = members.filter(({ isOwn }) => !isOwn).length;
  const isSettled = others >= policy.permanentWorkers || nowMs - beganMs >= settleMs;
  let room = policy.maxWorkers - Math.max(others, policy.permanentWorkers) - (members.length - others);
  const names = new Set([...pools, ...members].map(({ pool }) => pool));
  return [...names].toSorted().flatMap((pool): CollectionFleetAction[] => {
    const facts = pools.find((one) => one.pool === pool) ?? { pool, missing: 0, collections: 0 };
    const own = members.filter((member) => member.pool === pool);
    const wanted = neededWorkers(facts, own, policy, conditions);
    const isDraining = workers.some((one) => one.pool === pool && isLeaving(one, instances));
    const spare = wanted ? undefined : spareWorker(facts, own, policy, conditions);
    if (spare && !isDraining) return [{ kind: 'drain', workerId: spare.workerId, cause: 'idle' }];
    const count = mayStart && isSettled ? Math.min(wanted?.count ?? 0, room) : 0;
    if (!wanted || count <= 0) return [];
    room -= count;
    return [{ kind: 'start', pool, count, cause: wanted.cause }];
  });
}

/** Whether a started worker still drains. The row of one whose process has ended says so for a while, too. */
function isLeaving({ workerId, status }: RegisteredWorker, instances: readonly WorkerInstance[]): boolean {
  return status === 'DRAINING' && instances.some((one) => one.workerId === workerId && one.state !== 'ended');
}

/** Returns how many workers a pool lacks; undefined if none. */
function neededWorkers(
  { pool, missing }: CollectionPoolFacts,
  members: readonly Member[],
  { capacity, targetCpu, busyMs }: CollectionFleetPolicy,
  conditions: Conditions,
): { readonly count: number; readonly cause: 'room' | 'load' } | undefined {
  const ready = members.filter(({ status }) => status === 'READY');
  const cpu = sumOf(ready, (worker) => worker.cpu);
  const isBusy = conditions.lasts(`busy ${pool}`, ready.length > 0 && cpu > targetCpu * ready.length, busyMs);
  const forLoad = isBusy ? Math.ceil(cpu / targetCpu) - members.length : 0;
  const forRoom = Math.ceil((missing - sumOf(members, ({ freshRoom }) => freshRoom)) / capacity);
  if (forRoom <= 0 && forLoad <= 0) return undefined;
  return forRoom >= forLoad ? { count: forRoom, cause: 'room' } : { count: forLoad, cause: 'load' };
}

/** Returns the worker that the pool has been able to do without for the idle time. */
function spareWorker(
  { pool, missing, collections }: CollectionPoolFacts,
  members: readonly Member[],
  { targetCpu, idleMs }: CollectionFleetPolicy,
  conditions: Conditions,
): Member | undefined {
  const isQuiet = missing === 0 && members.every(({ status }) => status === 'READY');
  const [spare] = members.filter(({ isOwn }) => isOwn).toSorted(byUse);
  const others = members.filter((member) => member !== spare);
  // Each collection has at most one replica on each worker.
  const needed = Math.min(
    sumOf(members, ({ assigned }) => assigned),
    collections * others.length,
  );
  const room = sumOf(others, ({ capacity }) => Math.min(capacity, collections));
  const cpu = sumOf(members, (worker) => worker.cpu);
  const canGo =
    isQuiet &&
    spare !== undefined &&
    (others.length > 0 || collections === 0) &&
    room >= needed &&
    cpu <= targetCpu * spareShare * Math.max(1, others.length);
  return conditions.lasts(`spare ${pool}`, canGo, idleMs) ? spare : undefined;
}

/** The one that is easiest to empty first. */
function byUse(a: Member, b: Member): number {
  return a.assigned - b.assigned || a.cpu - b.cpu || (a.workerId < b.workerId ? -1 : 1);
}

function sumOf<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0);
}
