import { collectionUnknown } from '@drover/collection-engine';
import { assignmentChanged, type AssignmentStatus, type CollectionWorkerStatus } from '@drover/contracts';
import { lockInTransaction, prepared, type Database, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { tenantPools } from './assignment-facts.js';
import { passStatements, toWorkerFacts, type WorkerRow } from './assignment-rows.js';
import { assignmentUnknown, workerFull, workerReserved, workerUnavailable, workerUnknown } from './errors.js';

export interface ManualAssignmentsOptions {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'publish'>;
  /** Pools of tenants that do not get theirs from the affinity of workers. */
  readonly pools: ReadonlyMap<string, string>;
  /** Asks for a pass. */
  readonly wake: () => void;
}

export interface ManualAssignment {
  readonly collection: string;
  readonly workerId: string;
}

interface TargetRow {
  readonly status: CollectionWorkerStatus;
  readonly base_url: string;
  readonly capacity: number;
  readonly held: number;
  readonly pool: string;
  readonly tenant_affinity: string | null;
}

interface PairRow {
  readonly status: AssignmentStatus;
  readonly generation: number;
}

const collectionStatement = prepared(
  'manual-collection',
  'select id from drover.collections where tenant_id = $1 and name = $2',
);
const workerStatement = prepared(
  'manual-worker',
  `select w.status, w.base_url, w.capacity, w.pool, w.tenant_affinity, (select count(*)::int
     from drover.collection_assignments a where a.worker_id = w.id and a.status <> 'REMOVED') as held
   from drover.collection_workers w where w.id = $1 for no key update of w`,
);
const pairStatement = prepared(
  'manual-pair',
  `select status, generation from drover.collection_assignments
   where collection_id = $1 and worker_id = $2 and status <> 'REMOVED' for no key update`,
);
const assignStatement = prepared(
  'manual-assign',
  `insert into drover.collection_assignments (collection_id, worker_id, tenant_id, status, generation, manual)
   values ($1, $2, $3, 'PENDING', nextval('drover.assignment_generations'), true)
   on conflict (collection_id, worker_id) do update set status = 'PENDING', generation = excluded.generation,
     replaces = null, manual = true, excluded = false, problem = null, failed_at = null, assigned_at = now(),
     ready_at = null
   returning generation`,
);
const keepStatement = prepared(
  'manual-keep',
  `update drover.collection_assignments set manual = true, excluded = false, replaces = null
   where collection_id = $1 and worker_id = $2`,
);
const excludeStatement = prepared(
  'manual-exclude',
  `update drover.collection_assignments set manual = false, excluded = true where collection_id = $1 and worker_id = $2`,
);

/** Assignments that are made and ended by hand. Passes do the rest: they drain what is too many, and place what is missing. */
export class ManualAssignments {
  readonly #options: ManualAssignmentsOptions;

  constructor(options: ManualAssignmentsOptions) {
    this.#options = options;
  }

  /**
   * Lets a worker serve a collection, and leaves it there while the worker can. Throws COLLECTION_UNKNOWN, WORKER_UNKNOWN,
   * WORKER_UNAVAILABLE, WORKER_FULL or WORKER_RESERVED.
   */
  assign(tenantId: string, { collection, workerId }: ManualAssignment): Promise<void> {
    return this.#change(tenantId, collection, async (tx, collectionId) => {
      const [worker] = await tx.query<TargetRow>(workerStatement, [workerId]);
      if (!worker) throw workerUnknown({ workerId });
      const { status, capacity, held, tenant_affinity: tenant, base_url: workerUrl } = worker;
      if (status !== 'READY') throw workerUnavailable({ workerId, status });
      if (tenant !== null && tenant !== tenantId) throw workerReserved({ workerId });
      await this.#requirePool(tx, tenantId, workerId, worker.pool);
      const [pair] = await tx.query<PairRow>(pairStatement, [collectionId, workerId]);
      if (pair && pair.status !== 'DRAINING') {
        await tx.query(keepStatement, [collectionId, workerId]);
        return;
      }
      if (!pair && held >= capacity) throw workerFull({ workerId, capacity });
      const [made] = await tx.query<PairRow>(assignStatement, [collectionId, workerId, tenantId]);
      const generation = made?.generation ?? 0;
      const payload = { workerId, collectionId, action: 'ASSIGN', workerUrl, generation };
      await this.#options.bus.publish([{ topic: assignmentChanged, key: workerId, generation, payload }], tx);
    });
  }

  /** Takes a collection from a worker once another one serves it. Throws COLLECTION_UNKNOWN or ASSIGNMENT_UNKNOWN. */
  unassign(tenantId: string, { collection, workerId }: ManualAssignment): Promise<void> {
    return this.#change(tenantId, collection, async (tx, collectionId) => {
      const [pair] = await tx.query<PairRow>(pairStatement, [collectionId, workerId]);
      if (!pair) throw assignmentUnknown({ collection, workerId });
      await tx.query(excludeStatement, [collectionId, workerId]);
    });
  }

  /** Throws WORKER_RESERVED if the tenant has another pool. */
  async #requirePool(tx: Transaction, tenantId: string, workerId: string, pool: string): Promise<void> {
    const workers = await tx.query<WorkerRow>(passStatements.workers);
    const poolOf = tenantPools(
      workers.map((row) => toWorkerFacts(row)),
      this.#options.pools,
    );
    if (poolOf(tenantId) !== pool) throw workerReserved({ workerId });
  }

  #change(
    tenantId: string,
    collection: string,
    change: (tx: Transaction, collectionId: string) => Promise<void>,
  ): Promise<void> {
    return this.#options.database.transaction(async (tx) => {
      await lockInTransaction(tx, 'drover.assignments');
      const [row] = await tx.query<{ id: string }>(collectionStatement, [tenantId, collection]);
      if (!row) throw collectionUnknown({ collection, similar: undefined });
      await change(tx, row.id);
      tx.afterCommit(this.#options.wake);
    });
  }
}
