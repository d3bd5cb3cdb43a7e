import type { AssignmentStatus, CollectionRoute, CollectionWorkerStatus } from '@drover/contracts';
import { prepared } from '@drover/database';
import type { AssignmentFacts, CollectionFacts, WorkerFacts } from './assignment-facts.js';

export interface WorkerRow {
  readonly id: string;
  readonly status: CollectionWorkerStatus;
  readonly base_url: string;
  readonly pool: string;
  readonly capacity: number;
  readonly tenant_affinity: string | null;
  readonly zone: string | null;
}

export interface AssignmentRow {
  readonly collection_id: string;
  readonly worker_id: string;
  readonly status: AssignmentStatus;
  readonly generation: number;
  readonly replaces: string | null;
  readonly manual: boolean;
  readonly excluded: boolean;
  readonly load: number;
  readonly assigned_at: Date;
  readonly problem: string | null;
  readonly failed_at: Date | null;
}

export interface PlannedCollectionRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
}

export interface CheckRow {
  readonly now: Date;
  readonly watching_since: Date;
  readonly passed_at: Date | null;
  readonly fingerprint: string | null;
  /** Collections that lacked replicas at the last pass. */
  readonly unassigned: number;
}

export interface PoolRow {
  readonly pool: string;
  readonly unassigned: number;
  readonly missing: number;
  readonly asked_at: Date | null;
}

/** Assignments of one state, or all collections. */
export interface FingerprintRow {
  readonly status: AssignmentStatus | 'collections';
  readonly count: number;
  readonly hash: string | null;
}

export interface RouteRow {
  readonly collection_id: string;
  readonly generation: number;
  readonly endpoints: CollectionRoute['endpoints'];
}

/** The statements of a pass. They run under one lock, so that each sees what the last pass has written. */
export const passStatements = {
  // No heartbeat could come while there was no control plane: that time does not count.
  check: prepared(
    'assignment-check',
    `update drover.assignment_passes set checked_at = now(),
       watching_since = case when checked_at < now() - $1 * interval '1 ms' then now() else watching_since end
     returning now() as now, watching_since, passed_at, fingerprint,
       (select coalesce(sum(unassigned), 0)::int from drover.collection_pools) as unassigned`,
  ),
  expire: prepared(
    'assignment-expire',
    `update drover.collection_workers set status = 'OFFLINE', updated_at = now()
     where status <> 'OFFLINE' and greatest(last_heartbeat, $2) < now() - $1 * interval '1 ms' returning id`,
  ),
  // Workers answer orders at once: one that has not may be gone, long before its heartbeats are missed.
  silent: prepared(
    'assignment-silent',
    `select distinct a.worker_id from drover.collection_assignments a join drover.collection_workers w on w.id = a.worker_id
     where w.status = 'READY' and a.status in ('PENDING', 'INITIALIZING') and a.failed_at is null
       and greatest(a.assigned_at, w.last_heartbeat, $2) < now() - $1 * interval '1 ms' order by 1`,
  ),
  // One that was told to leave, and has handed over all its collections, has left.
  forget: prepared(
    'assignment-forget',
    `with ended as (
       delete from drover.collection_assignments
       where status = 'REMOVED' and not excluded and assigned_at < now() - $1 * interval '1 ms')
     delete from drover.collection_workers w where status = 'OFFLINE'
       and (last_heartbeat < now() - $1 * interval '1 ms' or is_draining and not exists (
         select from drover.collection_assignments a where a.worker_id = w.id and a.status <> 'REMOVED'))`,
  ),
  // Everything that a plan depends on, apart from workers and loads. To a plan a collection is being prepared or it is READY; what could
  // not be prepared is looked at again after 2, 4, 8, … seconds.
  fingerprint: prepared(
    'assignment-fingerprint',
    `select status, count(*)::int as count, bit_xor(hashtextextended(concat_ws(' ', collection_id, worker_id, generation,
       case status when 'INITIALIZING' then 'PENDING' else status end, replaces, manual, excluded,
       case when failed_at is not null and status <> 'REMOVED'
         then floor(log(2, greatest(1, extract(epoch from now() - failed_at)))) end), 0))::text as hash
     from drover.collection_assignments where status <> 'REMOVED' or excluded or failed_at is not null group by status
     union all select 'collections', count(*)::int, bit_xor(hashtextextended(concat_ws(' ', id, tenant_id), 0))::text
     from drover.collections`,
  ),
  passed: prepared('assignment-passed', 'update drover.assignment_passes set passed_at = now(), fingerprint = $1'),
  workers: prepared(
    'assignment-workers',
    'select id, status, base_url, pool, capacity, tenant_affinity, zone from drover.collection_workers order by id',
  ),
  collections: prepared('assignment-collections', 'select id, tenant_id, name from drover.collections order by id'),
  assignments: prepared(
    'assignment-rows',
    `select collection_id, worker_id, status, generation, replaces, manual, excluded, load, assigned_at, problem, failed_at
     from drover.collection_assignments where status <> 'REMOVED' or excluded or failed_at is not null`,
  ),
  routes: prepared('assignment-routes', 'select collection_id, generation, endpoints from drover.collection_routes'),
  // A collection that is deleted meanwhile is left out, here and in its route.
  assign: prepared(
    'assignment-assign',
    `insert into drover.collection_assignments (collection_id, worker_id, tenant_id, status, generation, replaces, load)
     select s.collection_id, s.worker_id, c.tenant_id, 'PENDING', nextval('drover.assignment_generations'), s.replaces, s.load
     from jsonb_to_recordset($1) as s (collection_id uuid, worker_id text, replaces text, load double precision)
     join drover.collections c on c.id = s.collection_id for key share of c
     on conflict (collection_id, worker_id) do update set status = 'PENDING', generation = excluded.generation,
       replaces = excluded.replaces, load = excluded.load, manual = false, problem = null, failed_at = null,
       assigned_at = now(), ready_at = null
     returning collection_id, worker_id, generation`,
  ),
  move: prepared(
    'assignment-move',
    `update drover.collection_assignments a set status = s.status
     from jsonb_to_recordset($1) as s (collection_id uuid, worker_id text, status text)
     where a.collection_id = s.collection_id and a.worker_id = s.worker_id
     returning a.collection_id, a.worker_id, a.generation`,
  ),
  setRoutes: prepared(
    'assignment-set-routes',
    `insert into drover.collection_routes (collection_id, generation, endpoints)
     select s.collection_id, nextval('drover.assignment_generations'), s.endpoints
     from jsonb_to_recordset($1) as s (collection_id uuid, endpoints jsonb)
     join drover.collections c on c.id = s.collection_id for key share of c
     on conflict (collection_id) do update set generation = excluded.generation, endpoints = excluded.endpoints
     returning collection_id, generation`,
  ),
  pools: prepared('assignment-pools', 'select pool, unassigned, missing, asked_at from drover.collection_pools'),
  setPools: prepared(
    'assignment-set-pools',
    `with lacking as (
       select * from jsonb_to_recordset($1) as s (pool text, unassigned integer, missing integer, asks boolean)),
       sated as (delete from drover.collection_pools p where p.pool not in (select pool from lacking))
     insert into drover.collection_pools (pool, unassigned, missing, asked_at)
     select pool, unassigned, missing, now() from lacking where asks
     on conflict (pool) do update
       set unassigned = excluded.unassigned, missing = excluded.missing, asked_at = excluded.asked_at`,
  ),
};

export function toWorkerFacts(row: WorkerRow, silent: ReadonlySet<string> = new Set()): WorkerFacts {
  const { id, status, pool, capacity, tenant_affinity: tenantAffinity, zone } = row;
  return {
    id,
    status,
    pool,
    capacity,
    ...(tenantAffinity !== null && { tenantAffinity }),
    ...(zone !== null && { zone }),
    ...(silent.has(id) && { isSilent: true }),
  };
}

export function toAssignmentFacts(row: AssignmentRow): AssignmentFacts {
  return {
    collectionId: row.collection_id,
    workerId: row.worker_id,
    status: row.status,
    assignedAtMs: row.assigned_at.getTime(),
    ...(row.replaces !== null && { replaces: row.replaces }),
    ...(row.manual && { isManual: true }),
    ...(row.excluded && { isExcluded: true }),
    ...(row.failed_at !== null && { failedAtMs: row.failed_at.getTime() }),
  };
}

export function toCollectionFacts(
  { id, tenant_id: tenantId }: PlannedCollectionRow,
  { pool, replicas, load }: { readonly pool: string; readonly replicas: number; readonly load: number },
): CollectionFacts {
  return { id, tenantId, pool, replicas, load };
}
