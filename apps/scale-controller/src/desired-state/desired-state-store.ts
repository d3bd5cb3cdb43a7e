import { prepared, type Queryable } from '@drover/database';
import { scaleLeadershipLost } from '../errors.js';
import type { StoredApplication, StoredWorker } from '../placement/placement-types.js';

/** A decision that is kept: that of a change. */
export interface StoredDecision {
  readonly application: string;
  readonly atMs: number;
  readonly decision: unknown;
}

/** Changes that are written in one statement: each row is in at most one of the lists of its table. */
export interface DesiredStateChanges {
  readonly workers: readonly StoredWorker[];
  readonly droppedWorkers: readonly string[];
  readonly applications: readonly StoredApplication[];
  readonly droppedApplications: readonly string[];
  readonly decisions: readonly StoredDecision[];
}

/** Decisions that are kept of an application. */
const keptDecisions = 50;

/**
 * One statement, because a leader that is paused inside a transaction would hold the row of the leader locked. The lock on that row
 * is what refuses a token that is not the newest, without a gap between check and write.
 */
const writeStatement = prepared(
  'scale-write',
  `with fence as materialized (
     select 1 from drover.scale_leader where id = 1 and token = $1 for share
   ), saved_workers as (
     insert into drover.scale_workers
       (worker_id, runtime_id, incarnation, endpoint, request_id, version_key, isolated, started_at_ms)
     select "workerId", "runtimeId", incarnation, endpoint, "requestId", "versionKey", "isIsolated", "startedAtMs"
     from json_to_recordset($2) as row ("workerId" text, "runtimeId" text, incarnation text, endpoint text,
       "requestId" text, "versionKey" text, "isIsolated" boolean, "startedAtMs" double precision)
     where exists (select from fence)
     on conflict (worker_id) do update set incarnation = excluded.incarnation,
       version_key = coalesce(excluded.version_key, scale_workers.version_key)
   ), dropped_workers as (
     delete from drover.scale_workers where worker_id = any($3) and exists (select from fence)
   ), saved_applications as (
     insert into drover.scale_applications (application, desired, runtime_id)
     select application, desired, "runtimeId"
     from json_to_recordset($4) as row (application text, desired integer, "runtimeId" text)
     where exists (select from fence)
     on conflict (application) do update set desired = excluded.desired, runtime_id = excluded.runtime_id
   ), dropped_applications as (
     delete from drover.scale_applications where application = any($5) and exists (select from fence)
   ), dropped_decisions as (
     delete from drover.scale_decisions where application = any($5) and exists (select from fence)
   ), saved_decisions as (
     insert into drover.scale_decisions (application, at_ms, decision)
     select application, "atMs", decision
     from json_to_recordset($6) as row (application text, "atMs" double precision, decision jsonb)
     where exists (select from fence)
   )
   select count(*)::integer as fences from fence`,
);

const trimStatement = prepared(
  'scale-trim',
  `delete from drover.scale_decisions as old using unnest($1::text[]) as name
   where old.application = name and old.position <= (
     select position from drover.scale_decisions where application = name
     order by position desc offset ${keptDecisions} limit 1)`,
);

interface WorkerRow {
  readonly worker_id: string;
  readonly runtime_id: string;
  readonly incarnation: string;
  readonly endpoint: string;
  readonly request_id: string;
  readonly version_key: string | null;
  readonly isolated: boolean;
  readonly started_at_ms: number;
}

/** What the leader wants and has started, in PostgreSQL: the next leader goes on from it. */
export class DesiredStateStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async read(): Promise<{
    readonly workers: readonly StoredWorker[];
    readonly applications: readonly StoredApplication[];
  }> {
    const workers = await this.#database.query<WorkerRow>('select * from drover.scale_workers order by worker_id');
    const applications = await this.#database.query<{
      application: string;
      desired: number;
      runtime_id: string | null;
    }>('select application, desired, runtime_id from drover.scale_applications order by application');
    return {
      workers: workers.map(toStoredWorker),
      applications: applications.map((row) => ({ ...row, runtimeId: row.runtime_id ?? undefined })),
    };
  }

  /** Writes all changes or none. Throws SCALE_LEADERSHIP_LOST if `token` is not that of the leader. */
  async write(token: number, changes: DesiredStateChanges): Promise<void> {
    const { workers, droppedWorkers, applications, droppedApplications, decisions } = changes;
    const [row] = await this.#database.query<{ fences: number }>(writeStatement, [
      token,
      JSON.stringify(workers),
      droppedWorkers,
      JSON.stringify(applications),
      droppedApplications,
      JSON.stringify(decisions),
    ]);
    if (row?.fences !== 1) throw scaleLeadershipLost({ token });
    if (decisions.length > 0)
      await this.#database.query(trimStatement, [[...new Set(decisions.map(({ application }) => application))]]);
  }

  /** The kept decisions of an application, newest first. */
  async decisions(application: string): Promise<readonly StoredDecision[]> {
    const rows = await this.#database.query<{ at_ms: number; decision: unknown }>(
      'select at_ms, decision from drover.scale_decisions where application = $1 order by position desc',
      [application],
    );
    return rows.map(({ at_ms, decision }) => ({ application, atMs: at_ms, decision }));
  }
}

function toStoredWorker(row: WorkerRow): StoredWorker {
  return {
    workerId: row.worker_id,
    runtimeId: row.runtime_id,
    incarnation: row.incarnation,
    endpoint: row.endpoint,
    requestId: row.request_id,
    versionKey: row.version_key ?? undefined,
    isIsolated: row.isolated,
    startedAtMs: row.started_at_ms,
  };
}
