import type { AssignmentStatus, CollectionAssignmentView, CollectionWorkerView } from '@drover/contracts';
import { prepared, type Database } from '@drover/database';
import { workerUnknown } from './errors.js';

interface WorkerViewRow {
  readonly id: string;
  readonly status: CollectionWorkerView['status'];
  readonly base_url: string;
  readonly pod_name: string | null;
  readonly namespace: string | null;
  readonly pool: string;
  readonly capacity: number;
  readonly current_load: number;
  readonly tenant_affinity: string | null;
  readonly zone: string | null;
  readonly labels: CollectionWorkerView['labels'];
  readonly load: CollectionWorkerView['heartbeat'] | null;
  readonly is_overloaded: boolean;
  readonly last_heartbeat: Date;
  readonly created_at: Date;
}

interface AssignmentViewRow {
  readonly collection_id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly worker_id: string;
  readonly status: AssignmentStatus;
  readonly generation: number;
  readonly replaces: string | null;
  readonly manual: boolean;
  readonly problem: string | null;
  readonly assigned_at: Date;
  readonly ready_at: Date | null;
}

const workersStatement = prepared(
  'worker-views',
  `select w.*, (select count(*)::int from drover.collection_assignments a
     where a.worker_id = w.id and a.status <> 'REMOVED') as current_load
   from drover.collection_workers w where $1::text is null or w.id = $1 order by w.id`,
);
const assignmentsStatement = prepared(
  'assignment-views',
  `select a.*, c.name from drover.collection_assignments a join drover.collections c on c.id = a.collection_id
   where a.tenant_id = $1 and ($2::text is null or a.worker_id = $2) and ($3::text is null or c.name = $3)
     and case when $4::text is null then a.status <> 'REMOVED' else a.status = $4 end
   order by c.name, a.worker_id`,
);
const unassignedStatement = prepared('assignment-unassigned', 'select pool, unassigned from drover.collection_pools');

export interface AssignmentFilter {
  readonly workerId?: string | undefined;
  readonly collection?: string | undefined;
  /** Unset: all that are not REMOVED. */
  readonly status?: AssignmentStatus | undefined;
}

/** Workers and assignments as the API shows them. Workers belong to the platform, assignments to the tenants of their collections. */
export class AssignmentQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async workers(): Promise<CollectionWorkerView[]> {
    return (await this.#database.query<WorkerViewRow>(workersStatement, [null])).map(toWorkerView);
  }

  /** Throws WORKER_UNKNOWN. */
  async worker(workerId: string): Promise<CollectionWorkerView> {
    const [row] = await this.#database.query<WorkerViewRow>(workersStatement, [workerId]);
    if (!row) throw workerUnknown({ workerId });
    return toWorkerView(row);
  }

  async assignments(tenantId: string, filter: AssignmentFilter): Promise<CollectionAssignmentView[]> {
    const { workerId = null, collection = null, status = null } = filter;
    const values = [tenantId, workerId, collection, status];
    return (await this.#database.query<AssignmentViewRow>(assignmentsStatement, values)).map(toAssignmentView);
  }

  /** Returns how many collections of all tenants lacked a worker at the last pass, by pool. */
  async unassigned(): Promise<Readonly<Record<string, number>>> {
    type Row = { readonly pool: string; readonly unassigned: number };
    const rows = await this.#database.query<Row>(unassignedStatement);
    return Object.fromEntries(rows.map(({ pool, unassigned }) => [pool, unassigned]));
  }
}

function toWorkerView(row: WorkerViewRow): CollectionWorkerView {
  const { pod_name: podName, namespace, tenant_affinity: tenantAffinity, zone, load } = row;
  return {
    id: row.id,
    status: row.status,
    isOverloaded: row.is_overloaded && row.status === 'READY',
    baseUrl: row.base_url,
    ...(podName !== null && { podName }),
    ...(namespace !== null && { namespace }),
    pool: row.pool,
    capacity: row.capacity,
    currentLoad: row.current_load,
    ...(tenantAffinity !== null && { tenantAffinity }),
    ...(zone !== null && { zone }),
    labels: row.labels,
    ...(load && { heartbeat: load }),
    lastHeartbeat: row.last_heartbeat.toISOString(),
    createdAt: row.created_at.toISOString(),
  };
}

function toAssignmentView(row: AssignmentViewRow): CollectionAssignmentView {
  const { replaces, problem, ready_at: readyAt } = row;
  return {
    collectionId: row.collection_id,
    collection: row.name,
    tenantId: row.tenant_id,
    workerId: row.worker_id,
    status: row.status,
    generation: row.generation,
    ...(replaces !== null && { replaces }),
    manual: row.manual,
    ...(problem !== null && { problem }),
    assignedAt: row.assigned_at.toISOString(),
    ...(readyAt && { readyAt: readyAt.toISOString() }),
  };
}
