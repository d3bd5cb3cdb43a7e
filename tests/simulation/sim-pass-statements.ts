import type { AssignmentStatus } from '@drover/contracts';
import { assignmentWrite, heldBy, parseRows, workerWrite, type StatementHandler } from './sim-statement.js';
import { keyOf, type SimAssignmentRow, type SimRouteRow, type SimWrite } from './sim-tables.js';

const check: StatementHandler = ({ tables, nowMs }, [awayMs]) => {
  const row = tables.passes.get('only');
  if (!row) return { rows: [] };
  const now = new Date(nowMs);
  const wasAway = row.checked_at.getTime() < nowMs - Number(awayMs);
  const next = { ...row, checked_at: now, watching_since: wasAway ? now : row.watching_since };
  const unassigned = [...tables.pools.values()].reduce((sum, pool) => sum + pool.unassigned, 0);
  return { rows: [{ ...next, now, unassigned }], writes: [{ table: 'passes', key: 'only', row: next }] };
};

const expire: StatementHandler = ({ tables, nowMs, faults }, [staleMs, since]) => {
  if (faults.has('stale workers stay READY')) return { rows: [] };
  const limitMs = nowMs - Number(staleMs);
  const stale = [...tables.workers.values()].filter(
    ({ status, last_heartbeat: last }) => status !== 'OFFLINE' && Math.max(last, (since as Date).getTime()) < limitMs,
  );
  return { rows: stale, writes: stale.map((row) => workerWrite({ ...row, status: 'OFFLINE' })) };
};

const silent: StatementHandler = ({ tables, nowMs }, [silentMs, since]) => {
  const limitMs = nowMs - Number(silentMs);
  const found = [...tables.assignments.values()].filter((row) => {
    const own = tables.workers.get(row.worker_id);
    const isOpen = (row.status === 'PENDING' || row.status === 'INITIALIZING') && row.failed_at === null;
    if (own?.status !== 'READY' || !isOpen) return false;
    return Math.max(row.assigned_at.getTime(), own.last_heartbeat, (since as Date).getTime()) < limitMs;
  });
  const ids = [...new Set(found.map((row) => row.worker_id))].toSorted();
  return { rows: ids.map((id) => ({ worker_id: id })) };
};

const forget: StatementHandler = ({ tables, nowMs }, [forgetMs]) => {
  const limitMs = nowMs - Number(forgetMs);
  const isHolding = (id: string): boolean => heldBy(tables, id).length > 0;
  const gone = [...tables.workers.values()].filter(
    (row) => row.status === 'OFFLINE' && (row.last_heartbeat < limitMs || (row.is_draining && !isHolding(row.id))),
  );
  const ids = new Set(gone.map(({ id }) => id));
  const ended = [...tables.assignments.values()].filter(
    (row) =>
      ids.has(row.worker_id) || (row.status === 'REMOVED' && !row.excluded && row.assigned_at.getTime() < limitMs),
  );
  const writes: SimWrite[] = [
    ...gone.map(({ id }): SimWrite => ({ table: 'workers', key: id, row: undefined })),
    ...ended.map((row): SimWrite => ({ ...assignmentWrite(row), table: 'assignments', row: undefined })),
  ];
  return { rows: [], writes };
};

/** Rows that a plan depends on. */
const isPlanned = ({ status, excluded, failed_at: failedAt }: SimAssignmentRow): boolean =>
  status !== 'REMOVED' || excluded || failedAt !== null;

const fingerprint: StatementHandler = ({ tables, nowMs }) => {
  const groups = new Map<string, { count: number; hash: number }>();
  const add = (status: string, text: string): void => {
    const group = groups.get(status) ?? { count: 0, hash: 0 };
    groups.set(status, { count: group.count + 1, hash: group.hash ^ hashOf(text) });
  };
  groups.set('collections', { count: 0, hash: 0 });
  for (const row of tables.assignments.values()) {
    if (!isPlanned(row)) continue;
    const { collection_id: id, worker_id: workerId, generation, replaces, manual, excluded } = row;
    const status = row.status === 'INITIALIZING' ? 'PENDING' : row.status;
    const failedForS = row.failed_at === null || status === 'REMOVED' ? 0 : (nowMs - row.failed_at.getTime()) / 1_000;
    const tries = Math.floor(Math.log2(Math.max(1, failedForS)));
    add(row.status, [id, workerId, generation, status, replaces, manual, excluded, tries].join(' '));
  }
  for (const { id, tenant_id: tenantId } of tables.collections.values()) add('collections', `${id} ${tenantId}`);
  return { rows: [...groups].map(([status, { count, hash }]) => ({ status, count, hash: String(hash) })) };
};

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

const passed: StatementHandler = ({ tables, nowMs }, [value]) => {
  const row = tables.passes.get('only');
  if (!row) return { rows: [] };
  const next = { ...row, passed_at: new Date(nowMs), fingerprint: value as string | null };
  return { rows: [], writes: [{ table: 'passes', key: 'only', row: next }] };
};

const assign: StatementHandler = ({ tables, nowMs, nextGeneration }, [json]) => {
  type Step = { collection_id: string; worker_id: string; replaces?: string; load: number };
  const rows = parseRows<Step>(json).flatMap((step): SimAssignmentRow[] => {
    const collection = tables.collections.get(step.collection_id);
    if (!collection) return [];
    const before = tables.assignments.get(keyOf(step.collection_id, step.worker_id));
    return [
      {
        collection_id: step.collection_id,
        worker_id: step.worker_id,
        tenant_id: collection.tenant_id,
        status: 'PENDING',
        generation: nextGeneration(),
        replaces: step.replaces ?? null,
        manual: false,
        excluded: before?.excluded ?? false,
        problem: null,
        load: step.load,
        assigned_at: new Date(nowMs),
        ready_at: null,
        failed_at: null,
      },
    ];
  });
  return { rows, writes: rows.map(assignmentWrite), refersTo: rows.map((row) => row.collection_id) };
};

const move: StatementHandler = ({ tables }, [json]) => {
  type Step = { collection_id: string; worker_id: string; status: AssignmentStatus };
  const rows = parseRows<Step>(json).flatMap((step) => {
    const row = tables.assignments.get(keyOf(step.collection_id, step.worker_id));
    return row ? [{ ...row, status: step.status }] : [];
  });
  return { rows, writes: rows.map(assignmentWrite) };
};

const setRoutes: StatementHandler = ({ tables, nextGeneration, faults }, [json]) => {
  const wanted = parseRows<Pick<SimRouteRow, 'collection_id' | 'endpoints'>>(json);
  const rows = wanted
    .filter((row) => tables.collections.has(row.collection_id))
    .map((row) => {
      const before = tables.routes.get(row.collection_id);
      const keeps = before && faults.has('a route keeps its generation');
      return { ...row, generation: keeps ? before.generation : nextGeneration() };
    });
  const writes = rows.map((row): SimWrite => ({ table: 'routes', key: row.collection_id, row }));
  return { rows, writes, refersTo: rows.map((row) => row.collection_id) };
};

const setPools: StatementHandler = ({ tables, nowMs }, [json]) => {
  type Lacking = { pool: string; unassigned: number; missing: number; asks: boolean };
  const lacking = parseRows<Lacking>(json);
  const names = new Set(lacking.map(({ pool }) => pool));
  const sated = [...tables.pools.keys()].filter((pool) => !names.has(pool));
  const asked_at = new Date(nowMs);
  const writes: SimWrite[] = [
    ...sated.map((key): SimWrite => ({ table: 'pools', key, row: undefined })),
    ...lacking
      .filter(({ asks }) => asks)
      .map(
        ({ pool, unassigned, missing }): SimWrite => ({
          table: 'pools',
          key: pool,
          row: { pool, unassigned, missing, asked_at },
        }),
      ),
  ];
  return { rows: [], writes };
};

const byId = <Row extends { readonly id: string }>(rows: Iterable<Row>): Row[] =>
  [...rows].toSorted((a, b) => (a.id < b.id ? -1 : 1));

/** What PostgreSQL does for the statements of a pass over all assignments. */
export const simPassStatements: Readonly<Record<string, StatementHandler>> = {
  'assignment-check': check,
  'assignment-expire': expire,
  'assignment-silent': silent,
  'assignment-forget': forget,
  'assignment-fingerprint': fingerprint,
  'assignment-passed': passed,
  'assignment-workers': ({ tables }) => ({
    // Only these columns: the others change with each heartbeat.
    rows: byId(tables.workers.values()).map(({ id, status, base_url, pool, capacity, tenant_affinity, zone }) => ({
      id,
      status,
      base_url,
      pool,
      capacity,
      tenant_affinity,
      zone,
    })),
  }),
  'assignment-collections': ({ tables }) => ({ rows: byId(tables.collections.values()) }),
  'assignment-rows': ({ tables }) => ({
    rows: [...tables.assignments.values()].filter(isPlanned),
  }),
  'assignment-routes': ({ tables }) => ({ rows: [...tables.routes.values()] }),
  'assignment-assign': assign,
  'assignment-move': move,
  'assignment-set-routes': setRoutes,
  'assignment-pools': ({ tables }) => ({ rows: [...tables.pools.values()] }),
  'assignment-set-pools': setPools,
};
