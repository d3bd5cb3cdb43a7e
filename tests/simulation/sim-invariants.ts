import {
  keyOf,
  type SimAssignmentRow,
  type SimRouteRow,
  type SimTables,
  type SimWorkerRow,
  type SimWrite,
} from './sim-tables.js';
import type { SimWorker } from './sim-worker.js';
import { calm, type SimWorld } from './sim-world.js';

const fingerprint = ({ endpoints }: SimRouteRow): string =>
  endpoints
    .map(({ workerId, url }) => `${workerId} ${url}`)
    .toSorted()
    .join();

/** Passes take less. */
const passLimitMs = 5_000;

/** Watches every commit. */
class SimInvariants {
  readonly #world: SimWorld;
  /** Rows before the commit. */
  #before: Pick<SimTables, 'assignments' | 'routes' | 'workers'> = {
    assignments: new Map(),
    routes: new Map(),
    workers: new Map(),
  };
  readonly #routes = new Map<string, string>();
  /** When workers came back from OFFLINE. */
  readonly #backMs = new Map<string, number>();

  constructor(world: SimWorld) {
    this.#world = world;
  }

  committed(written: readonly SimWrite[]): void {
    const { tables } = this.#world.database;
    for (const { table, row } of written) {
      if (table === 'assignments' && row) this.#checkAssignment(row, tables);
      if (table === 'routes' && row) this.#checkRoute(row, tables);
    }
    this.#checkCapacity(tables);
    for (const { table, key, row } of written) {
      if (table !== 'assignments' && table !== 'routes' && table !== 'workers') continue;
      if (this.#before.workers.get(key)?.status === 'OFFLINE') this.#backMs.set(key, this.#world.clock.nowMs);
      const rows: Map<string, unknown> = this.#before[table];
      if (row) rows.set(key, row);
      else rows.delete(key);
    }
  }

  #checkAssignment(row: SimAssignmentRow, { workers, collections }: SimTables): void {
    const { collection_id: collectionId, worker_id: workerId, generation, status } = row;
    const { fail, prepared, poolOf } = this.#world;
    const before = this.#before.assignments.get(keyOf(collectionId, workerId));
    if (before && before.generation > generation) fail(`the assignment of ${collectionId} to ${workerId} gets older`);
    if (status === 'READY' && !prepared.has(`${workerId} ${collectionId} ${generation}`))
      fail(`${collectionId} is READY at ${workerId}, which has not prepared generation ${generation}`);
    if (status !== 'PENDING' || before?.status === 'PENDING') return;
    const worker = workers.get(workerId);
    const tenantId = collections.get(collectionId)?.tenant_id ?? '';
    if (before?.generation !== undefined && before.status !== 'REMOVED') return; // the worker was started again
    if (worker?.pool !== poolOf(tenantId)) fail(`${collectionId} is assigned to ${workerId} of another pool`);
    if ((worker?.tenant_affinity ?? tenantId) !== tenantId)
      fail(`${collectionId} is assigned to ${workerId}, which is for another tenant`);
  }

  #checkRoute(row: SimRouteRow, tables: SimTables): void {
    const { collection_id: collectionId, generation, endpoints } = row;
    const before = this.#before.routes.get(collectionId);
    const { fail, clock } = this.#world;
    clock.log(`route ${generation} of ${collectionId}: ${endpoints.map(({ url }) => url).join(' ') || 'none'}`);
    const key = `${collectionId} ${generation}`;
    if ((this.#routes.get(key) ?? fingerprint(row)) !== fingerprint(row)) fail(`two routes are generation ${key}`);
    this.#routes.set(key, fingerprint(row));
    if (before && before.generation >= generation && fingerprint(before) !== fingerprint(row))
      fail(`the route of ${collectionId} goes from generation ${before.generation} to ${generation}`);
    if (endpoints.length > 0 || !before) return;
    for (const { workerId, url } of before.endpoints)
      if (this.#mayServe(tables.workers.get(workerId), url, collectionId, tables))
        fail(`the last route of ${collectionId} to ${workerId} is taken away while it serves`);
  }

  /** Whether the worker behind an endpoint goes on serving the collection, as far as the control plane can know. */
  #mayServe(row: SimWorkerRow | undefined, url: string, collectionId: string, tables: SimTables): boolean {
    if (!row || row.base_url !== url || (row.status !== 'READY' && row.status !== 'DRAINING')) return false;
    const before = this.#before.workers.get(row.id);
    const assignment = tables.assignments.get(keyOf(collectionId, row.id));
    const old = this.#before.assignments.get(keyOf(collectionId, row.id));
    // A pass that began before the worker was ready again does not see it; the next one does.
    const sinceMs = Math.max(old?.ready_at ?? 0, this.#backMs.get(row.id) ?? 0);
    if (sinceMs > this.#world.clock.nowMs - passLimitMs) return false;
    return (
      before?.incarnation === row.incarnation && old?.status === 'READY' && assignment?.generation === old.generation
    );
  }

  #checkCapacity(tables: SimTables): void {
    const held = new Map<string, number>();
    for (const { worker_id: id, status } of tables.assignments.values())
      if (status !== 'REMOVED') held.set(id, (held.get(id) ?? 0) + 1);
    for (const [id, count] of held) {
      const capacity = tables.workers.get(id)?.capacity ?? 0;
      if (count > capacity) this.#world.fail(`${id} has ${count} assignments, and room for ${capacity}`);
    }
  }
}

/** Without a fault of the control plane or the database, a worker that does not answer costs a collection no more than this. */
const unansweredMs = 6_000;
/** One that cannot prepare it, and may take its time to find out, costs so much. */
const unableMs = 14_000;

/** Watches collections that no worker serves: each has to come to one that lives, long before the dead are missed. */
class PlacementWatch {
  readonly #world: SimWorld;
  /** Since when each has been waiting, and the workers that could have had it all the time. */
  readonly #waiting = new Map<string, { readonly sinceMs: number; readonly able: ReadonlySet<SimWorker> }>();

  constructor(world: SimWorld) {
    this.#world = world;
  }

  look(): void {
    const { database, planes, isStorageBroken, clock } = this.#world;
    const isCalm = this.#world.network.weather === calm && !isStorageBroken && planes.every(({ isUp }) => isUp);
    for (const id of database.tables.collections.keys()) {
      const isServed = (database.tables.routes.get(id)?.endpoints.length ?? 0) > 0;
      const able = isCalm && !isServed ? this.#able(id) : [];
      const before = this.#waiting.get(id);
      const still = new Set(able.filter((worker) => !before || before.able.has(worker)));
      if (still.size === 0) this.#waiting.delete(id);
      else this.#waiting.set(id, { sinceMs: before?.sinceMs ?? clock.nowMs, able: still });
      this.#check(id);
    }
  }

  #check(id: string): void {
    const { unable, clock, fail, traits, database } = this.#world;
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    const waitedMs = clock.nowMs - waiting.sinceMs;
    // One after the other was asked, as many at a time as there are replicas.
    const asked = [...database.tables.assignments.values()].filter((row) => row.collection_id === id).length;
    const mostMs = unansweredMs * (1 + Math.ceil(asked / traits.replicas)) + (unable.has(id) ? unableMs : 0);
    if (waitedMs > mostMs) fail(`${id} has waited for ${waitedMs} ms, and workers that live could have prepared it`);
  }

  /** Workers that could prepare the collection, unless one of them does. */
  #able(id: string): SimWorker[] {
    const { traits, unable, database } = this.#world;
    if (traits.capacity < 50 || traits.hasAffinity) return [];
    const able = fittingOf(this.#world, id).filter(({ facts }) => unable.get(id) !== facts.workerId);
    const isOrdered = ({ facts }: SimWorker): boolean => {
      const status = database.tables.assignments.get(keyOf(id, facts.workerId))?.status;
      return status !== undefined && status !== 'REMOVED';
    };
    return able.some(isOrdered) ? [] : able;
  }
}

/** Checks every commit of the world from now on, and every second. */
export function watchInvariants(world: SimWorld): void {
  const invariants = new SimInvariants(world);
  world.database.onCommit = (written) => invariants.committed(written);
  const watch = new PlacementWatch(world);
  const look = (): void => {
    watch.look();
    world.clock.after(1_000, look);
  };
  look();
}

/** What holds once everything had time to recover. */
export async function checkRecovered(world: SimWorld, quietSinceMs: number): Promise<void> {
  const { database, gateways, busyPasses, fail } = world;
  const late = busyPasses.filter((atMs) => atMs > quietSinceMs);
  if (late.length > 0) fail(`${late.length} passes changed something long after the last fault`);
  for (const collectionId of database.tables.collections.keys()) checkCollection(world, collectionId);
  for (const row of database.tables.assignments.values())
    if (row.status !== 'READY' && row.status !== 'REMOVED')
      fail(`the assignment of ${row.collection_id} to ${row.worker_id} is ${row.status} for ever`);
  for (const gateway of gateways)
    for (const { collection_id: id, generation } of database.tables.routes.values()) {
      const known = gateway.routes.find(id)?.generation;
      if (known !== generation)
        fail(`${gateway.name} has generation ${known} of ${id}, and the last one is ${generation}`);
    }
  for (const worker of world.running) checkHeld(world, worker);
  for (const worker of world.running) if (worker.isLeaving) fail(`${worker.facts.workerId} cannot leave`);
  checkBalance(world);
}

/** A worker serves what it is assigned, and nothing else. */
function checkHeld({ database, fail }: SimWorld, { facts, assigned, isRegistered }: SimWorker): void {
  if (!isRegistered) return;
  for (const id of database.tables.collections.keys()) {
    const isAssigned = database.tables.assignments.get(keyOf(id, facts.workerId))?.status === 'READY';
    if (assigned.serves(id) !== isAssigned)
      fail(`${facts.workerId} ${isAssigned ? 'does not serve' : 'serves'} ${id}, and its assignment says otherwise`);
  }
}

/** Workers that may serve the collection, of which the control plane knows. */
function fittingOf(world: SimWorld, collectionId: string): SimWorker[] {
  const tenantId = world.database.tables.collections.get(collectionId)?.tenant_id ?? '';
  return world.running.filter(({ facts, isLeaving, isRegistered }) => {
    const { pool, tenantAffinity = tenantId, workerId } = facts;
    if (world.database.tables.assignments.get(keyOf(collectionId, workerId))?.excluded) return false;
    return isRegistered && !isLeaving && pool === world.poolOf(tenantId) && tenantAffinity === tenantId;
  });
}

function checkCollection(world: SimWorld, collectionId: string): void {
  const { database, traits, fail } = world;
  const fitting = fittingOf(world, collectionId);
  const endpoints = database.tables.routes.get(collectionId)?.endpoints ?? [];
  const room = fitting.reduce((sum, { facts }) => sum + (facts.capacity ?? 0), 0);
  const { size } = database.tables.collections;
  if (endpoints.length === 0 && fitting.length > 0 && room >= size) fail(`${collectionId} has no route`);
  const wanted = Math.min(traits.replicas, fitting.length);
  const rows = [...database.tables.assignments.values()].filter((row) => row.collection_id === collectionId);
  const isRight = endpoints.length === wanted || (endpoints.length > wanted && rows.some(({ manual }) => manual));
  if (!isRight && room >= size * traits.replicas)
    fail(`${collectionId} is served by ${endpoints.length} workers, not by ${wanted}`);
  if (traits.capacity >= 50 && new Set(endpoints.map(({ workerId }) => workerId)).size !== endpoints.length)
    fail(`${collectionId} has two replicas on one worker`);
  for (const { url } of endpoints)
    if (!fitting.some(({ facts, assigned }) => facts.baseUrl === url && assigned.serves(collectionId)))
      fail(`the route of ${collectionId} leads to ${url}, which does not serve it`);
}

function checkBalance(world: SimWorld): void {
  const { database, traits, running, loads, policy, poolOf } = world;
  if (traits.capacity < 50 || traits.hasAffinity) return;
  for (const pool of ['default', 'gold']) {
    const members = running.filter(({ facts, isRegistered }) => facts.pool === pool && isRegistered);
    const own = new Map(members.map(({ facts }) => [facts.workerId, 0]));
    let largest = 0;
    for (const { collection_id: id, endpoints } of database.tables.routes.values()) {
      if (poolOf(database.tables.collections.get(id)?.tenant_id ?? '') !== pool) continue;
      const share = Math.max(loads.get(id) ?? 0, policy.idleLoad) / Math.max(1, endpoints.length);
      largest = Math.max(largest, share);
      for (const { workerId } of endpoints) own.set(workerId, (own.get(workerId) ?? 0) + share);
    }
    const all = [...own.values()];
    const mean = all.reduce((sum, load) => sum + load, 0) / Math.max(1, all.length);
    for (const [id, load] of own)
      if (Math.abs(load - mean) > Math.max(mean * 0.1, largest) * 1.1)
        world.fail(`${id} has a load of ${load.toFixed(1)}, the mean of ${pool} is ${mean.toFixed(1)}`);
  }
}
