import type { NewCollectionWorker, WorkerAssignment, WorkerHeartbeat, WorkerOrders } from '@drover/contracts';
import { lockInTransaction, prepared, type Database, type Queryable } from '@drover/database';
import { assignmentStates } from './assignment-states.js';
import { workerRegisteredAgain, workerUnknown } from './errors.js';

export interface WorkerRegistryOptions {
  readonly database: Database;
  /** How often workers are asked to send heartbeats. */
  readonly heartbeatMs: number;
}

const defaultPool = 'default';
const defaultCapacity = 50;

const registerStatement = prepared(
  'worker-register',
  `insert into drover.collection_workers
     (id, status, base_url, pod_name, namespace, pool, capacity, tenant_affinity, zone, labels)
   values ($1, 'STARTING', $2, $3, $4, $5, $6, $7, $8, $9)
   on conflict (id) do update set status = 'STARTING', incarnation = collection_workers.incarnation + 1,
     base_url = excluded.base_url, pod_name = excluded.pod_name, namespace = excluded.namespace, pool = excluded.pool,
     capacity = excluded.capacity, tenant_affinity = excluded.tenant_affinity, zone = excluded.zone,
     labels = excluded.labels, load = null, last_heartbeat = now(), updated_at = now()
   returning incarnation`,
);
// A new process serves nothing yet: what it had is prepared again, what it was to give up is gone.
const resetStatement = prepared(
  'worker-reset',
  `update drover.collection_assignments set ready_at = null, problem = null,
     status = case status when 'DRAINING' then 'REMOVED' else 'PENDING' end,
     generation = nextval('drover.assignment_generations')
   where worker_id = $1 and status <> 'REMOVED'`,
);
const beatStatement = prepared(
  'worker-beat',
  `update drover.collection_workers set last_heartbeat = now(), updated_at = now(), load = $4,
     status = case when status = 'DRAINING' and $3 <> 'FAILED' then 'DRAINING' else $3 end
   where id = $1 and incarnation = $2 returning status`,
);
const incarnationStatement = prepared(
  'worker-incarnation',
  'select incarnation from drover.collection_workers where id = $1',
);
const drainStatement = prepared(
  'worker-drain',
  `update drover.collection_workers set status = 'DRAINING', updated_at = now()
   where id = $1 and status in ('STARTING', 'READY') returning incarnation`,
);
/** The part of a new value in the average of the load of a collection. */
const loadWeight = 0.3;
const reportStatement = prepared(
  'worker-report',
  `update drover.collection_assignments a set status = s.status, problem = s.problem,
     ready_at = case when s.status = 'READY' and a.status <> 'READY' then now() else a.ready_at end,
     load = a.load + ${loadWeight} * (s.cpu - a.load)
   from jsonb_to_recordset($2) as s
     (collection_id uuid, generation bigint, status text, cpu double precision, problem text)
   where a.worker_id = $1 and a.collection_id = s.collection_id and a.generation = s.generation
     and a.status || ' ' || s.status = any ($3)
   returning a.status = 'REMOVED' or a.ready_at is not distinct from now() as has_changed`,
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

/** What collection workers say of themselves. Only the control plane writes it down. */
export class WorkerRegistry {
  readonly #options: WorkerRegistryOptions;

  constructor(options: WorkerRegistryOptions) {
    this.#options = options;
  }

  register(worker: NewCollectionWorker): Promise<WorkerOrders> {
    const { workerId, baseUrl, podName = null, namespace = null, pool = defaultPool } = worker;
    const { capacity = defaultCapacity, tenantAffinity = null, zone = null, labels = {} } = worker;
    const values = [
      workerId,
      baseUrl,
      podName,
      namespace,
      pool,
      capacity,
      tenantAffinity,
      zone,
      JSON.stringify(labels),
    ];
    return this.#options.database.transaction(async (tx) => {
      await lockInTransaction(tx, 'drover.assignments');
      const [row] = await tx.query<{ incarnation: number }>(registerStatement, values);
      await tx.query(resetStatement, [workerId]);
      return this.#orders(tx, workerId, row?.incarnation ?? 1);
    });
  }

  /** Throws WORKER_UNKNOWN or WORKER_REGISTERED_AGAIN. Returns whether a collection changed its state, too. */
  async heartbeat(
    workerId: string,
    { incarnation, status, load, collections }: WorkerHeartbeat,
  ): Promise<{ readonly orders: WorkerOrders; readonly hasChanged: boolean }> {
    const stored = status === 'OVERLOADED' ? 'READY' : status;
    return this.#options.database.transaction(async (tx) => {
      const beat = await tx.query(beatStatement, [workerId, incarnation, stored, JSON.stringify(load)]);
      if (beat.length === 0) await refuse(tx, workerId, incarnation);
      const reports = collections.map(({ collectionId, ...report }) => ({ collection_id: collectionId, ...report }));
      const values = [workerId, JSON.stringify(reports), reportable];
      const reported = reports.length === 0 ? [] : await tx.query<{ has_changed: boolean }>(reportStatement, values);
      const hasChanged = reported.some(({ has_changed: changed }) => changed);
      return { orders: await this.#orders(tx, workerId, incarnation), hasChanged };
    });
  }

  /** Its collections move away; it goes on serving until they have. Throws WORKER_UNKNOWN. */
  async deregister(workerId: string): Promise<WorkerOrders> {
    const { database } = this.#options;
    await database.query(drainStatement, [workerId]);
    const [row] = await database.query<{ incarnation: number }>(incarnationStatement, [workerId]);
    if (!row) throw workerUnknown({ workerId });
    return this.#orders(database, workerId, row.incarnation);
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
  const [row] = await within.query<{ incarnation: number }>(incarnationStatement, [workerId]);
  if (!row) throw workerUnknown({ workerId });
  throw workerRegisteredAgain({ workerId, incarnation, current: row.incarnation });
}
