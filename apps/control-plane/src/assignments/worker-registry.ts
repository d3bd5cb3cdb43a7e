import type {
  CollectionWorkerStatus,
  NewCollectionWorker,
  WorkerAssignment,
  CollectionWorkerHeartbeat,
  WorkerOrders,
} from '@drover/contracts';
import { lockInTransaction, prepared, type Database, type Queryable, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { Observe } from '@drover/service-kit';
import { defaultPool } from './assignment-facts.js';
import { assignmentStates, collectionWorkerStates } from './assignment-states.js';
import { workerRegisteredAgain, workerUnknown } from './errors.js';
import type { AssignmentObservation } from './observations.js';
import { workerStatusEvent } from './worker-status-event.js';

export interface WorkerRegistryOptions {
  readonly database: Database;
  /** How often workers are asked to send heartbeats. */
  readonly heartbeatMs: number;
  readonly bus: Pick<EventBus, 'publish'>;
  /** Asks for a pass. */
  readonly wake: () => void;
  readonly observe: Observe<AssignmentObservation>;
}

const defaultCapacity = 50;

// Without a row: the same process has registered before, and its registration stands.
const registerStatement = prepared(
  'worker-register',
  `insert into drover.collection_workers
     (id, status, base_url, pod_name, namespace, pool, capacity, tenant_affinity, zone, labels, process_token)
   values ($1, 'STARTING', $2, $3, $4, $5, $6, $7, $8, $9, $10)
   on conflict (id) do update set status = 'STARTING', incarnation = collection_workers.incarnation + 1,
     base_url = excluded.base_url, pod_name = excluded.pod_name, namespace = excluded.namespace, pool = excluded.pool,
     capacity = excluded.capacity, tenant_affinity = excluded.tenant_affinity, zone = excluded.zone,
     labels = excluded.labels, process_token = excluded.process_token, load = null, is_overloaded = false,
     is_draining = false, last_heartbeat = now(), updated_at = now()
   where excluded.process_token is null or collection_workers.process_token is distinct from excluded.process_token
   returning incarnation, status`,
);
// A new process serves nothing yet: what it had is prepared again, what it was to give up is gone. What an earlier one could not
// prepare, this one may be able to.
const resetStatement = prepared(
  'worker-reset',
  `update drover.collection_assignments set ready_at = null, problem = null, failed_at = null,
     status = case when status in ('DRAINING', 'REMOVED') or excluded then 'REMOVED' else 'PENDING' end,
     generation = nextval('drover.assignment_generations')
   where worker_id = $1 and (status <> 'REMOVED' or failed_at is not null)`,
);
// "no key": a pass may refer to the worker in new assignments meanwhile.
const beatStatement = prepared(
  'worker-beat',
  `with stored as (
     select status, is_draining, is_overloaded from drover.collection_workers
     where id = $1 and incarnation = $2 for no key update)
   update drover.collection_workers w set last_heartbeat = now(), updated_at = now(), load = $4, is_overloaded = $6,
     is_draining = w.is_draining or $3 = 'DRAINING',
     status = case when w.is_draining and $3 <> 'FAILED' then 'DRAINING'
       when stored.status || ' ' || $3 = any ($5) then $3 else stored.status end
   from stored where w.id = $1
   returning w.incarnation, w.status, stored.status as was, stored.is_overloaded as was_overloaded`,
);
const incarnationStatement = prepared(
  'worker-incarnation',
  'select incarnation, status, status as was from drover.collection_workers where id = $1',
);
const drainStatement = prepared(
  'worker-drain',
  `with stored as (
     select status from drover.collection_workers
     where id = $1 and ($2::bigint is null or incarnation = $2) for no key update)
   update drover.collection_workers w set is_draining = true, updated_at = now(),
     status = case when w.status in ('STARTING', 'READY') then 'DRAINING' else w.status end
   from stored where w.id = $1 returning w.incarnation, w.status, stored.status as was`,
);
/** The part of a new value in the average of the load of a collection. */
const loadWeight = 0.3;
// Rows are locked in a fixed order, so that two statements do not wait for each other. An idle collection costs no write.
const reportStatement = prepared(
  'worker-report',
  `with told as (
     select a.collection_id, a.status as was, s.status, s.problem, s.cpu
     from jsonb_to_recordset($2) as s
       (collection_id uuid, generation bigint, status text, cpu double precision, problem text)
     join drover.collection_assignments a
       on a.worker_id = $1 and a.collection_id = s.collection_id and a.generation = s.generation
     where a.status || ' ' || s.status = any ($3)
       and (a.status <> s.status or a.problem is distinct from s.problem or abs(a.load - s.cpu) > 0.5)
     order by a.collection_id for no key update of a)
   update drover.collection_assignments a set status = told.status, problem = told.problem,
     ready_at = case when told.status = 'READY' and told.was <> 'READY' then now() else a.ready_at end,
     failed_at = case when told.status in ('DRAINING', 'REMOVED') then a.failed_at
       when told.problem is not null then coalesce(a.failed_at, now()) end,
     load = a.load + ${loadWeight} * (told.cpu - a.load)
   from told where a.worker_id = $1 and a.collection_id = told.collection_id
   returning told.was <> a.status and a.status in ('READY', 'REMOVED') as has_changed`,
);
const ordersStatement = prepared(
  'worker-orders',
  `select a.collection_id, a.tenant_id, c.name, a.status, a.generation from drover.collection_assignments a
   join drover.collections c on c.id = a.collection_id where a.worker_id = $1 and a.status <> 'REMOVED' order by a.generation`,
);

/** Pairs of a stored and a reported status that a report may change, or confirm. */
const reportable: readonly string[] = assignmentStates.all.flatMap((from) =>
  (['INITIALIZING', 'READY', 'DRAINING', 'REMOVED'] as const)
    .filter((to) => to === from || isReported(from, to))
    .map((to) => `${from} ${to}`),
);

/** A worker prepares and gives up what it was told; it does not drain a collection by itself. */
function isReported(from: string, to: string): boolean {
  if (to === 'REMOVED') return from === 'DRAINING';
  if (to === 'INITIALIZING') return from === 'PENDING';
  return to === 'READY' && (from === 'PENDING' || from === 'INITIALIZING');
}

/** Status that a heartbeat may set, after the stored one. A late heartbeat of the start does not stop a worker that is READY. */
const beatable: readonly string[] = collectionWorkerStates.all.flatMap((from) =>
  collectionWorkerStates.table[from]
    .filter((to) => to !== 'OFFLINE' && (to !== 'STARTING' || from === 'OFFLINE' || from === 'FAILED'))
    .map((to) => `${from} ${to}`),
);

interface RegisteredRow {
  readonly incarnation: number;
  readonly status: CollectionWorkerStatus;
  /** Status before the statement; absent if there was no other. */
  readonly was?: CollectionWorkerStatus;
  readonly was_overloaded?: boolean;
}

/** What collection workers say of themselves. Only the control plane writes it down, and asks for a pass if that may change a plan. */
export class WorkerRegistry {
  readonly #options: WorkerRegistryOptions;

  constructor(options: WorkerRegistryOptions) {
    this.#options = options;
  }

  /** A late or repeated call of a process that has registered changes nothing, if the process gives its token. */
  register(worker: NewCollectionWorker): Promise<WorkerOrders> {
    const { workerId, baseUrl, podName = null, namespace = null, pool = defaultPool } = worker;
    const { capacity = defaultCapacity, tenantAffinity = null, zone = null, labels = {} } = worker;
    const facts = [baseUrl, podName, namespace, pool, capacity, tenantAffinity, zone, JSON.stringify(labels)];
    const values = [workerId, ...facts, worker.processToken ?? null];
    return this.#options.database.transaction(async (tx) => {
      await lockInTransaction(tx, 'drover.assignments');
      const [row] = await tx.query<RegisteredRow>(registerStatement, values);
      if (row) await tx.query(resetStatement, [workerId]);
      const [known] = row ? [row] : await tx.query<RegisteredRow>(incarnationStatement, [workerId]);
      return this.#answer(tx, workerId, known);
    });
  }

  /** Throws WORKER_UNKNOWN or WORKER_REGISTERED_AGAIN. */
  heartbeat(workerId: string, heartbeat: CollectionWorkerHeartbeat): Promise<WorkerOrders> {
    const { incarnation, load, collections } = heartbeat;
    const isOverloaded = heartbeat.status === 'OVERLOADED';
    const status = isOverloaded ? 'READY' : heartbeat.status;
    return this.#options.database.transaction(async (tx) => {
      const values = [workerId, incarnation, status, JSON.stringify(load), beatable, isOverloaded];
      const [row] = await tx.query<RegisteredRow>(beatStatement, values);
      if (!row) await refuse(tx, workerId, incarnation);
      if (row && row.was_overloaded !== isOverloaded)
        tx.afterCommit(() => this.#options.observe({ kind: 'collection-worker.overloaded', workerId, isOverloaded }));
      const reports = collections.map(({ collectionId, ...report }) => ({ collection_id: collectionId, ...report }));
      const reported =
        reports.length === 0
          ? []
          : await tx.query<{ has_changed: boolean }>(reportStatement, [workerId, JSON.stringify(reports), reportable]);
      if (reported.some(({ has_changed: changed }) => changed)) tx.afterCommit(this.#options.wake);
      return this.#answer(tx, workerId, row);
    });
  }

  /**
   * Its collections move away; it goes on serving until they have. A process that was replaced names its incarnation, so that it does
   * not end its successor. Throws WORKER_UNKNOWN or WORKER_REGISTERED_AGAIN.
   */
  deregister(workerId: string, incarnation?: number): Promise<WorkerOrders> {
    return this.#options.database.transaction(async (tx) => {
      const [row] = await tx.query<RegisteredRow>(drainStatement, [workerId, incarnation ?? null]);
      if (!row) await refuse(tx, workerId, incarnation ?? 0);
      return this.#answer(tx, workerId, row);
    });
  }

  /** Publishes a changed status, and returns what the worker is to serve now. */
  async #answer(tx: Transaction, workerId: string, row: RegisteredRow | undefined): Promise<WorkerOrders> {
    const { bus, wake, observe } = this.#options;
    const orders = await this.#orders(tx, workerId, row?.incarnation ?? 1);
    if (row && row.was !== row.status) {
      const { status } = row;
      const own = orders.assignments.map(({ collectionId }) => collectionId);
      await bus.publish([await workerStatusEvent(tx, workerId, status, own)], tx);
      tx.afterCommit(() => {
        observe({ kind: 'collection-worker.status-changed', workerId, status });
        wake();
      });
    }
    return orders;
  }

  async #orders(within: Queryable, workerId: string, incarnation: number): Promise<WorkerOrders> {
    const rows = await within.query<{
      collection_id: string;
      tenant_id: string;
      name: string;
      status: WorkerAssignment['status'];
      generation: number;
    }>(ordersStatement, [workerId]);
    const assignments = rows.map((row) => ({
      collectionId: row.collection_id,
      tenantId: row.tenant_id,
      collection: row.name,
      status: row.status,
      generation: row.generation,
    }));
    return { incarnation, heartbeatMs: this.#options.heartbeatMs, assignments };
  }
}

async function refuse(within: Queryable, workerId: string, incarnation: number): Promise<never> {
  const [row] = await within.query<RegisteredRow>(incarnationStatement, [workerId]);
  if (!row) throw workerUnknown({ workerId });
  throw workerRegisteredAgain({ workerId, incarnation, current: row.incarnation });
}
