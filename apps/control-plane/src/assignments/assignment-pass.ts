import {
  assignmentChanged,
  collectionCapacityNeeded,
  collectionRouteChanged,
  workerStatusChanged,
  type NewEvent,
} from '@drover/contracts';
import { lockInTransaction, type Database, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { AssignmentPlan, AssignmentPolicy, AssignmentStep } from './assignment-facts.js';
import {
  passStatements as statements,
  toAssignmentFacts,
  toCollectionFacts,
  toWorkerFacts,
  type AssignmentRow,
  type PlannedCollectionRow,
  type RouteRow,
  type WorkerRow,
} from './assignment-rows.js';
import { planAssignments } from './plan-assignments.js';
import { changedRoutes } from './routes-of.js';

export interface AssignmentPassOptions {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'publish'>;
  readonly policy: AssignmentPolicy;
  /** Workers that serve a collection at the same time. */
  readonly replicas: number;
  /** Heartbeats older than this: the worker is OFFLINE. */
  readonly staleMs: number;
  /** Workers that are OFFLINE for longer than this are removed. */
  readonly forgetMs: number;
  readonly poolOf: (tenantId: string) => string;
}

export interface PassResult {
  readonly assigned: number;
  readonly drained: number;
  readonly removed: number;
  readonly offline: readonly string[];
  readonly unassigned: number;
  readonly routes: number;
}

/**
 * Decides anew which worker serves which collection, in one transaction: workers without heartbeats go OFFLINE, the plan becomes rows,
 * routes that changed get the next generation, and events tell workers and gateways. Replicas of the control plane take turns.
 */
export function runAssignmentPass(options: AssignmentPassOptions): Promise<PassResult> {
  return options.database.transaction(async (tx) => {
    await lockInTransaction(tx, 'drover.assignments');
    const offline = await tx.query<{ id: string }>(statements.expire, [options.staleMs]);
    await tx.query(statements.forget, [options.forgetMs]);
    const workers = await tx.query<WorkerRow>(statements.workers);
    const collections = await tx.query<PlannedCollectionRow>(statements.collections);
    const before = await tx.query<AssignmentRow>(statements.assignments);
    const plan = planAssignments(
      {
        workers: workers.map(toWorkerFacts),
        collections: factsOf(collections, before, options),
        assignments: before.map(toAssignmentFacts),
        nowMs: await nowOf(tx),
      },
      options.policy,
    );
    const written = await writePlan(tx, plan, workers);
    const after = written.length === 0 ? before : await tx.query<AssignmentRow>(statements.assignments);
    const routes = await writeRoutes(tx, collections, after, workers);
    const lacking = lackingPools(plan);
    await tx.query(statements.setPools, [JSON.stringify(lacking)]);
    const statusEvents = offline.map(({ id }) => statusEvent(id, before));
    await options.bus.publish([...written, ...routes, ...statusEvents, ...lacking.map(capacityEvent)], tx);
    return {
      assigned: plan.assign.length,
      drained: plan.drain.length,
      removed: plan.remove.length,
      offline: offline.map(({ id }) => id),
      unassigned: plan.unassigned.length,
      routes: routes.length,
    };
  });
}

/** The clock of PostgreSQL: the control planes need not agree on theirs. */
async function nowOf(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ now: Date }>('select now() as now');
  return row?.now.getTime() ?? 0;
}

function factsOf(
  collections: readonly PlannedCollectionRow[],
  assignments: readonly AssignmentRow[],
  { poolOf, replicas }: AssignmentPassOptions,
) {
  const loads = new Map<string, number>();
  for (const { collection_id: id, load } of assignments) loads.set(id, (loads.get(id) ?? 0) + load);
  return collections.map((row) =>
    toCollectionFacts(row, { pool: poolOf(row.tenant_id), replicas, load: loads.get(row.id) ?? 0 }),
  );
}

/** Writes the plan and returns the events for the workers that it concerns. */
async function writePlan(tx: Transaction, plan: AssignmentPlan, workers: readonly WorkerRow[]): Promise<NewEvent[]> {
  type Written = { collection_id: string; worker_id: string; generation: number };
  const urls = new Map(workers.map(({ id, base_url: url }) => [id, url]));
  const events = (rows: readonly Written[], action: 'ASSIGN' | 'UNASSIGN'): NewEvent[] =>
    rows.map(({ collection_id: collectionId, worker_id: workerId, generation }) => ({
      topic: assignmentChanged,
      key: workerId,
      generation,
      payload: { workerId, collectionId, action, workerUrl: urls.get(workerId) ?? '', generation },
    }));
  const assigned = plan.assign.map(({ replaces, ...step }) => ({ ...toColumns(step), replaces }));
  const moved = [
    ...plan.drain.map((step) => ({ ...toColumns(step), status: 'DRAINING' })),
    ...plan.remove.map((step) => ({ ...toColumns(step), status: 'REMOVED' })),
  ];
  const left = moved.length > 0 ? await tx.query<Written>(statements.move, [JSON.stringify(moved)]) : [];
  const made = assigned.length > 0 ? await tx.query<Written>(statements.assign, [JSON.stringify(assigned)]) : [];
  return [...events(left, 'UNASSIGN'), ...events(made, 'ASSIGN')];
}

const toColumns = ({ collectionId, workerId }: AssignmentStep) => ({
  collection_id: collectionId,
  worker_id: workerId,
});

async function writeRoutes(
  tx: Transaction,
  collections: readonly PlannedCollectionRow[],
  assignments: readonly AssignmentRow[],
  workers: readonly WorkerRow[],
): Promise<NewEvent[]> {
  const stored = await tx.query<RouteRow>(statements.routes);
  const changed = changedRoutes(
    collections.map(({ id }) => id),
    assignments,
    workers,
    stored,
  );
  if (changed.length === 0) return [];
  const rows = changed.map(({ collectionId, endpoints }) => ({ collection_id: collectionId, endpoints }));
  const written = await tx.query<{ collection_id: string; generation: number }>(statements.setRoutes, [
    JSON.stringify(rows),
  ]);
  const generations = new Map(written.map((row) => [row.collection_id, row.generation]));
  const byId = new Map(collections.map((row) => [row.id, row]));
  return changed.flatMap(({ collectionId, endpoints }) => {
    const collection = byId.get(collectionId);
    const generation = generations.get(collectionId);
    if (!collection || generation === undefined) return [];
    const { tenant_id: tenantId, name } = collection;
    const payload = { collectionId, tenantId, name, generation, endpoints };
    return [{ topic: collectionRouteChanged, key: collectionId, generation, payload }];
  });
}

function statusEvent(workerId: string, assignments: readonly AssignmentRow[]): NewEvent {
  const own = assignments.filter(({ worker_id: id }) => id === workerId).map(({ collection_id: id }) => id);
  return {
    topic: workerStatusChanged,
    key: workerId,
    generation: 0,
    payload: { workerId, status: 'OFFLINE', collections: own },
  };
}

interface LackingPool {
  readonly pool: string;
  /** Collections that lack replicas. */
  readonly unassigned: number;
  /** Replicas that they lack together. */
  readonly missing: number;
}

function lackingPools({ unassigned }: AssignmentPlan): LackingPool[] {
  const pools = new Map<string, LackingPool>();
  for (const { pool, missing } of unassigned) {
    const before = pools.get(pool) ?? { pool, unassigned: 0, missing: 0 };
    pools.set(pool, { pool, unassigned: before.unassigned + 1, missing: before.missing + missing });
  }
  return [...pools.values()];
}

function capacityEvent({ pool, unassigned }: LackingPool): NewEvent {
  return { topic: collectionCapacityNeeded, key: pool, generation: 0, payload: { pool, unassigned } };
}
