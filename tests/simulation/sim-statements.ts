import type { AssignmentStatus, CollectionWorkerStatus } from '@drover/contracts';
import { simPassStatements } from './sim-pass-statements.js';
import { assignmentWrite, heldBy, parseRows, workerWrite, type StatementHandler } from './sim-statement.js';
import { keyOf, type SimAssignmentRow, type SimTables, type SimWorkerRow, type SimWrite } from './sim-tables.js';

const loadWeight = 0.3;

const register: StatementHandler = ({ tables, nowMs }, values) => {
  const [id, url, , , pool, capacity, affinity, zone, , token] = values;
  const before = tables.workers.get(String(id));
  if (before && token !== null && before.process_token === token) return { rows: [] };
  const row: SimWorkerRow = {
    id: String(id),
    status: 'STARTING',
    incarnation: (before?.incarnation ?? 0) + 1,
    base_url: String(url),
    pool: String(pool),
    capacity: Number(capacity),
    tenant_affinity: affinity as string | null,
    zone: zone as string | null,
    is_draining: false,
    last_heartbeat: nowMs,
    process_token: token as string | null,
  };
  return { rows: [row], writes: [workerWrite(row)] };
};

const reset: StatementHandler = ({ tables, nextGeneration }, [id]) => {
  const own = [...tables.assignments.values()].filter(
    (row) => row.worker_id === id && (row.status !== 'REMOVED' || row.failed_at !== null),
  );
  const rows = own.map((row) => {
    const isGone = row.status === 'DRAINING' || row.status === 'REMOVED' || row.excluded;
    const status = isGone ? ('REMOVED' as const) : ('PENDING' as const);
    return { ...row, ready_at: null, problem: null, failed_at: null, status, generation: nextGeneration() };
  });
  return { rows: [], writes: rows.map(assignmentWrite) };
};

const beat: StatementHandler = ({ tables, nowMs, faults }, [id, incarnation, said, , beatable]) => {
  const row = tables.workers.get(String(id));
  if (!row) return { rows: [] };
  if (row.incarnation !== incarnation && !faults.has('a heartbeat of an earlier process counts')) return { rows: [] };
  const isAllowed = (beatable as readonly string[]).includes(`${row.status} ${String(said)}`);
  const spoken = isAllowed ? (said as CollectionWorkerStatus) : row.status;
  const next: SimWorkerRow = {
    ...row,
    last_heartbeat: nowMs,
    is_draining: row.is_draining || said === 'DRAINING',
    status: row.is_draining && said !== 'FAILED' ? 'DRAINING' : spoken,
  };
  return { rows: [{ ...next, was: row.status }], writes: [workerWrite(next)] };
};

const drain: StatementHandler = ({ tables }, [id, incarnation]) => {
  const row = tables.workers.get(String(id));
  if (!row || (incarnation !== null && row.incarnation !== incarnation)) return { rows: [] };
  const isLive = row.status === 'STARTING' || row.status === 'READY';
  const next: SimWorkerRow = { ...row, is_draining: true, status: isLive ? 'DRAINING' : row.status };
  return { rows: [{ ...next, was: row.status }], writes: [workerWrite(next)] };
};

interface Report {
  readonly collection_id: string;
  readonly generation: number;
  readonly status: AssignmentStatus;
  readonly cpu: number;
  readonly problem?: string;
}

const report: StatementHandler = ({ tables, nowMs, faults }, [id, json, reportable]) => {
  const pairs = reportable as readonly string[];
  const changed: { readonly row: SimAssignmentRow; readonly has_changed: boolean }[] = [];
  for (const said of parseRows<Report>(json)) {
    const row = tables.assignments.get(keyOf(said.collection_id, String(id)));
    if (!row) continue;
    if (row.generation !== said.generation && !faults.has('a report about an earlier assignment counts')) continue;
    if (!pairs.includes(`${row.status} ${said.status}`)) continue;
    const problem = said.problem ?? null;
    if (row.status === said.status && row.problem === problem && Math.abs(row.load - said.cpu) <= 0.5) continue;
    const ready_at = said.status === 'READY' && row.status !== 'READY' ? nowMs : row.ready_at;
    const load = row.load + loadWeight * (said.cpu - row.load);
    const has_changed = row.status !== said.status && (said.status === 'READY' || said.status === 'REMOVED');
    const failedNow = problem === null ? null : (row.failed_at ?? new Date(nowMs));
    const failed_at = said.status === 'DRAINING' || said.status === 'REMOVED' ? row.failed_at : failedNow;
    changed.push({ row: { ...row, status: said.status, problem, ready_at, failed_at, load }, has_changed });
  }
  return { rows: changed, writes: changed.map(({ row }) => assignmentWrite(row)) };
};

const orders: StatementHandler = ({ tables }, [id]) => {
  const rows = heldBy(tables, id).flatMap((row) => {
    const collection = tables.collections.get(row.collection_id);
    return collection ? [{ ...row, name: collection.name }] : [];
  });
  return { rows: rows.toSorted((a, b) => a.generation - b.generation) };
};

const manualPair =
  (change: Partial<SimAssignmentRow>): StatementHandler =>
  ({ tables }, [collectionId, workerId]) => {
    const row = tables.assignments.get(keyOf(String(collectionId), String(workerId)));
    return row ? { rows: [row], writes: [assignmentWrite({ ...row, ...change })] } : { rows: [] };
  };

const manualAssign: StatementHandler = ({ tables, nowMs, nextGeneration }, [collectionId, workerId, tenantId]) => {
  const before = tables.assignments.get(keyOf(String(collectionId), String(workerId)));
  const row: SimAssignmentRow = {
    collection_id: String(collectionId),
    worker_id: String(workerId),
    tenant_id: String(tenantId),
    status: 'PENDING',
    generation: nextGeneration(),
    replaces: null,
    manual: true,
    excluded: false,
    problem: null,
    load: before?.load ?? 0,
    assigned_at: new Date(nowMs),
    ready_at: null,
    failed_at: null,
  };
  return { rows: [row], writes: [assignmentWrite(row)], refersTo: [row.collection_id] };
};

const routesOf = (tables: SimTables, wanted: (id: string) => boolean): object[] =>
  [...tables.routes.values()].flatMap((row) => {
    const collection = tables.collections.get(row.collection_id);
    return collection && wanted(collection.id) ? [{ ...row, tenant_id: collection.tenant_id }] : [];
  });

const removeCollection: StatementHandler = ({ tables }, [id]) => {
  const key = String(id);
  const own = [...tables.assignments.values()].filter((row) => row.collection_id === key);
  const writes: SimWrite[] = [
    { table: 'collections', key, row: undefined },
    { table: 'routes', key, row: undefined },
    ...own.map((row): SimWrite => ({ ...assignmentWrite(row), table: 'assignments', row: undefined })),
  ];
  return { rows: [], writes };
};

/** What PostgreSQL does for each statement of the control plane and the gateway, by its name; a test compares the two. */
export const simStatements: Readonly<Record<string, StatementHandler>> = {
  ...simPassStatements,
  "select nextval('drover.assignment_generations') as generation": ({ nextGeneration }) => ({
    rows: [{ generation: nextGeneration() }],
  }),
  'worker-register': register,
  'worker-reset': reset,
  'worker-beat': beat,
  'worker-incarnation': ({ tables }, [id]) => ({
    rows: [...tables.workers.values()].filter((row) => row.id === id).map((row) => ({ ...row, was: row.status })),
  }),
  'worker-drain': drain,
  'worker-report': report,
  'worker-orders': orders,
  'manual-collection': ({ tables }, [tenantId, name]) => ({
    rows: [...tables.collections.values()].filter((row) => row.tenant_id === tenantId && row.name === name),
  }),
  'manual-worker': ({ tables }, [id]) => ({
    rows: [...tables.workers.values()]
      .filter((row) => row.id === id)
      .map((row) => ({ ...row, held: heldBy(tables, id).length })),
  }),
  'manual-pair': ({ tables }, [collectionId, workerId]) => ({
    rows: heldBy(tables, workerId).filter((row) => row.collection_id === collectionId),
  }),
  'manual-assign': manualAssign,
  'manual-keep': manualPair({ manual: true, excluded: false, replaces: null }),
  'manual-exclude': manualPair({ manual: false, excluded: true }),
  'gateway-routes': ({ tables }) => ({ rows: routesOf(tables, () => true) }),
  'gateway-route': ({ tables }, [id]) => ({ rows: routesOf(tables, (each) => each === id) }),
  'gateway-route-summary': ({ tables }) => ({
    rows: [
      {
        generations: [...tables.routes.values()].reduce((sum, row) => sum + row.generation, 0),
        routes: tables.routes.size,
        has_workers: [...tables.workers.values()].some(({ status }) =>
          ['STARTING', 'READY', 'DRAINING'].includes(status),
        ),
      },
    ],
  }),
  'define-collection': (_, [id, tenantId]) => {
    const row = { id: String(id), tenant_id: String(tenantId), name: String(id) };
    return { rows: [], writes: [{ table: 'collections', key: row.id, row }] };
  },
  'remove-collection': removeCollection,
};
