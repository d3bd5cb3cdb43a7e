import { CollectionStore } from '@drover/collection-engine';
import type { WorkerOrders } from '@drover/contracts';
import {
  controlPlaneSchema,
  defaultAssignmentPolicy,
  ManualAssignments,
  runAssignmentPass,
  WorkerRegistry,
} from '@drover/control-plane/testing';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { SimClock } from '@drover/scale-controller/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SimDatabase } from './sim-database.js';

const bus = { publish: () => Promise.resolve() };
const pools = new Map([['globex', 'gold']]);
const staleMs = 45_000;
/** Time passes in steps of ten seconds; no limit is near such a step. */
const [stepMs, silentMs, giveUpMs] = [10_000, 5_000, 3_500];
const idle = { cpu: 0, activeConnections: 0, requestRate: 0, latencyMs: 0, errorRate: 0, memoryBytes: 0 };

/** The registry, the passes and the manual assignments of production over one database. */
class Side {
  readonly #database: Database;
  readonly #registry: WorkerRegistry;
  readonly #manual: ManualAssignments;
  /** Every answer to a worker: the last one, and earlier ones for reports that come late. */
  readonly #orders = new Map<string, WorkerOrders[]>();

  constructor(database: Database) {
    const io = { database, bus, wake: () => undefined, observe: () => undefined };
    this.#database = database;
    this.#registry = new WorkerRegistry({ ...io, heartbeatMs: 15_000 });
    this.#manual = new ManualAssignments({ ...io, pools });
  }

  register(workerId: string, pool: string, processToken: string | undefined): Promise<unknown> {
    const process = processToken === undefined ? {} : { processToken };
    const facts = { workerId, baseUrl: `http://${workerId}`, pool, capacity: 4, ...process };
    return this.#told(workerId, this.#registry.register(facts));
  }

  deregister(workerId: string, incarnation: number | undefined): Promise<unknown> {
    return this.#told(workerId, this.#registry.deregister(workerId, incarnation));
  }

  /** Reports all that the orders of `age` answers ago asked for; a part of it is done. */
  beat(workerId: string, age: number, status: 'READY' | 'DRAINING' | 'FAILED', cpu: number): Promise<unknown> {
    const known = this.#orders.get(workerId) ?? [];
    const orders = known.at(-1 - age) ?? known[0];
    if (!orders) return Promise.resolve('never registered');
    // In a fixed order: that of generations which one statement has made is not defined.
    const told = orders.assignments.toSorted((a, b) => (a.collectionId < b.collectionId ? -1 : 1));
    const collections = told.map(({ collectionId, generation, status: ordered }, index) => {
      const done = ordered === 'DRAINING' ? ('REMOVED' as const) : ('READY' as const);
      const state = (index + cpu) % 3 === 0 && ordered === 'PENDING' ? ('INITIALIZING' as const) : done;
      const problem = state === 'INITIALIZING' && cpu % 2 === 0 && { problem: 'not yet' };
      return { collectionId, generation, status: state, cpu, requestRate: 0, errorRate: 0, ...problem };
    });
    const beat = { incarnation: orders.incarnation, status, load: idle, collections };
    return this.#told(workerId, this.#registry.heartbeat(workerId, beat));
  }

  assign(tenantId: string, collection: string, workerId: string, isTaken: boolean): Promise<unknown> {
    const target = { collection, workerId };
    const change = isTaken ? this.#manual.unassign(tenantId, target) : this.#manual.assign(tenantId, target);
    return change.then(() => 'done', codeOf);
  }

  async pass(): Promise<unknown> {
    const policy = { ...defaultAssignmentPolicy, restMs: 20_000, giveUpMs };
    const options = { database: this.#database, bus, policy, replicas: 2, pools, staleMs, silentMs };
    const { changes, unassigned } = await runAssignmentPass({ ...options, awayMs: 600_000, forgetMs: 200_000 });
    return { changes: changes && { ...changes, offline: changes.offline.toSorted() }, unassigned };
  }

  #told(workerId: string, answer: Promise<WorkerOrders>): Promise<unknown> {
    return answer.then((orders) => {
      this.#orders.set(workerId, [...(this.#orders.get(workerId) ?? []), orders]);
      const assignments = orders.assignments.map(({ collectionId, status }) => `${collectionId} ${status}`);
      return { incarnation: orders.incarnation, assignments: assignments.toSorted() };
    }, codeOf);
  }
}

const codeOf = (error: unknown): string => {
  const { code } = error as { readonly code?: string };
  if (code === undefined) throw error;
  return code;
};

type Tables = Readonly<Record<'workers' | 'assignments' | 'routes' | 'pools', readonly string[]>>;
const line = (...values: readonly unknown[]): string =>
  values.map((value) => (typeof value === 'number' ? value.toFixed(6) : String(value))).join(' ');

async function tablesOf(database: Database): Promise<Tables> {
  type Rows = Record<string, unknown>[];
  const workers = await database.query(
    `select id, status, incarnation, pool, capacity, is_draining, coalesce(process_token, '-') as token
     from drover.collection_workers`,
  );
  const assignments = await database.query(
    `select collection_id, worker_id, status, coalesce(replaces, '-') as replaces, manual, excluded,
       coalesce(problem, '-') as problem, load, ready_at is not null as is_ready, failed_at is not null as has_failed from drover.collection_assignments`,
  );
  const routes = await database.query('select collection_id, endpoints from drover.collection_routes');
  const missing = await database.query('select pool, unassigned, missing from drover.collection_pools');
  const lines = (rows: Rows): string[] => rows.map((row) => line(...Object.values(row))).toSorted();
  return {
    workers: lines(workers),
    assignments: lines(assignments),
    routes: routes.map((row) => line(row['collection_id'], urlsOf(row['endpoints']))).toSorted(),
    pools: lines(missing),
  };
}

function simTablesOf({ tables }: SimDatabase): Tables {
  return {
    workers: [...tables.workers.values()]
      .map((row) =>
        line(row.id, row.status, row.incarnation, row.pool, row.capacity, row.is_draining, row.process_token ?? '-'),
      )
      .toSorted(),
    assignments: [...tables.assignments.values()]
      .map((row) =>
        line(
          row.collection_id,
          row.worker_id,
          row.status,
          row.replaces ?? '-',
          row.manual,
          row.excluded,
          row.problem ?? '-',
          row.load,
          row.ready_at !== null,
          row.failed_at !== null,
        ),
      )
      .toSorted(),
    routes: [...tables.routes.values()].map((row) => line(row.collection_id, urlsOf(row.endpoints))).toSorted(),
    pools: [...tables.pools.values()]
      .map(({ pool, unassigned, missing }) => line(pool, unassigned, missing))
      .toSorted(),
  };
}

const urlsOf = (endpoints: unknown): string =>
  (endpoints as readonly { readonly url: string }[])
    .map(({ url }) => url)
    .toSorted()
    .join();

let test: TestDatabase;
let database: Database;
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  database = await test.connect();
});
afterAll(() => test.drop());

/** Lets the time of all rows pass. */
const age = (ms: number) =>
  database.query(
    `with past as (select $1 * interval '1 ms' as ms),
       a as (update drover.collection_workers set last_heartbeat = last_heartbeat - ms from past),
       b as (update drover.collection_assignments set assigned_at = assigned_at - ms, failed_at = failed_at - ms from past),
       c as (update drover.collection_pools set asked_at = asked_at - ms from past)
     update drover.assignment_passes set checked_at = checked_at - ms, watching_since = watching_since - ms,
       passed_at = passed_at - ms from past`,
    [ms],
  );

describe('the simulated database', () => {
  it('does what PostgreSQL does with late, repeated and refused reports, passes and manual assignments', async () => {
    const clock = new SimClock(7);
    const sim = new SimDatabase(clock, new Set(), 0);
    const [real, simulated] = [new Side(database), new Side(sim.connect(() => true))];
    const store = new CollectionStore({ database, bus });
    const collections: { readonly id: string; readonly tenantId: string; readonly name: string }[] = [];
    await database.query(`update drover.assignment_passes set watching_since = now() - interval '1 day'`);
    await age(1_000_000);
    const startedMs = performance.now();
    let agedMs = 1_000_000;

    const both = async (action: (side: Side) => Promise<unknown>): Promise<void> => {
      clock.nowMs = agedMs + performance.now() - startedMs; // PostgreSQL takes some time, too
      const expected = await action(real);
      expect(await action(simulated)).toEqual(expected);
    };
    const define = async (): Promise<void> => {
      const [tenantId, name] = [clock.chance(0.7) ? 'acme' : 'globex', clock.id('c').replace('-', '')];
      const [made] = await store.create(tenantId, [{ name, fields: [{ name: 'a', type: 'STRING' }] }], 'key');
      const id = made?.id ?? '';
      collections.push({ id, tenantId, name });
      sim.tables.collections.set(id, { id, tenant_id: tenantId, name });
    };
    for (let count = 0; count < 5; count += 1) await define();
    for (let step = 0; step < 150; step += 1) {
      const workerId = `w${clock.integer(1, 4)}`;
      const chance = clock.integer(0, 99);
      if (chance < 12) {
        const token = clock.chance(0.5) ? `process-${clock.integer(1, 2)}` : undefined;
        await both((side) => side.register(workerId, workerId === 'w4' ? 'gold' : 'default', token));
      } else if (chance < 55) {
        const [back, cpu] = [clock.chance(0.2) ? clock.integer(1, 3) : 0, clock.integer(0, 9)];
        const status = clock.chance(0.05) ? 'FAILED' : clock.chance(0.1) ? 'DRAINING' : 'READY';
        await both((side) => side.beat(workerId, back, status, cpu));
      } else if (chance < 58) {
        const incarnation = clock.chance(0.5) ? clock.integer(1, 3) : undefined;
        await both((side) => side.deregister(workerId, incarnation));
      } else if (chance < 66) {
        const { tenantId, name } = clock.pick(collections) ?? { tenantId: '', name: 'unknown' };
        const isTaken = clock.chance(0.5);
        await both((side) => side.assign(tenantId, name, workerId, isTaken));
      } else if (chance < 76) {
        const ms = clock.integer(1, 4) * stepMs;
        await age(ms);
        agedMs += ms;
      } else await both((side) => side.pass());
      expect(simTablesOf(sim)).toEqual(await tablesOf(database));
    }
    expect(sim.tables.routes.size).toBeGreaterThan(0);
  });
});
