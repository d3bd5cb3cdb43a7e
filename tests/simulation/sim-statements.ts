import type { AssignmentStatus, CollectionWorkerStatus } from '@drover/contracts';
import {
  keyOf,
  type SimAssignmentRow,
  type SimRouteRow,
  type SimTables,
  type SimWorkerRow,
  type SimWrite,
  type SqlFault,
} from './sim-tables.js';

export interface StatementContext {
  /** What the transaction sees. */
  readonly tables: SimTables;
  /** Of the transaction, as `now()` in PostgreSQL. */
  readonly nowMs: number;
  readonly nextGeneration: () => number;
  readonly faults: ReadonlySet<SqlFault>;
}

export interface StatementEffect {
  readonly rows: readonly object[];
  readonly writes?: readonly SimWrite[];
  /** Collections that new rows refer to: none of them may be deleted meanwhile. */
  readonly refersTo?: readonly string[];
}

type Handler = (context: StatementContext, values: readonly unknown[]) => StatementEffect;

const parse = <Row>(json: unknown): Row[] => JSON.parse(String(json)) as Row[];
const loadWeight = 0.3;

const worker = (row: SimWorkerRow): SimWrite => ({ table: 'workers', key: row.id, row });
const assignment = (row: SimAssignmentRow): SimWrite => ({
  table: 'assignments',
  key: keyOf(row.collection_id, row.worker_id),
  row,
});

const check: Handler = ({ tables, nowMs }, [awayMs]) => {
  const row = tables.passes.get('only');
  if (!row) return { rows: [] };
  const now = new Date(nowMs);
  const wasAway = row.checked_at.getTime() < nowMs - Number(awayMs);
  const next = { ...row, checked_at: now, watching_since: wasAway ? now : row.watching_since };
  const unassigned = [...tables.pools.values()].reduce((sum, pool) => sum + pool.unassigned, 0);
  return { rows: [{ ...next, now, unassigned }], writes: [{ table: 'passes', key: 'only', row: next }] };
};

const expire: Handler = ({ tables, nowMs, faults }, [staleMs, since]) => {
  if (faults.has('stale workers stay READY')) return { rows: [] };
  const limitMs = nowMs - Number(staleMs);
  const stale = [...tables.workers.values()].filter(
    ({ status, last_heartbeat: last }) => status !== 'OFFLINE' && Math.max(last, (since as Date).getTime()) < limitMs,
  );
  return { rows: stale, writes: stale.map((row) => worker({ ...row, status: 'OFFLINE' })) };
};

const silent: Handler = ({ tables, nowMs }, [silentMs, since]) => {
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

const forget: Handler = ({ tables, nowMs }, [forgetMs]) => {
  const limitMs = nowMs - Number(forgetMs);
  const isHolding = (id: string): boolean => ownOf(tables, id).length > 0;
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
    ...ended.map((row): SimWrite => ({ ...assignment(row), table: 'assignments', row: undefined })),
  ];
  return { rows: [], writes };
};

/** Rows that a plan depends on. */
const isPlanned = ({ status, excluded, failed_at: failedAt }: SimAssignmentRow): boolean =>
  status !== 'REMOVED' || excluded || failedAt !== null;

const fingerprint: Handler = ({ tables, nowMs }) => {
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

const passed: Handler = ({ tables, nowMs }, [value]) => {
  const row = tables.passes.get('only');
  if (!row) return { rows: [] };
  const next = { ...row, passed_at: new Date(nowMs), fingerprint: value as string | null };
  return { rows: [], writes: [{ table: 'passes', key: 'only', row: next }] };
};

const assign: Handler = ({ tables, nowMs, nextGeneration }, [json]) => {
  type Step = { collection_id: string; worker_id: string; replaces?: string; load: number };
  const rows = parse<Step>(json).flatMap((step): SimAssignmentRow[] => {
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
  return { rows, writes: rows.map(assignment), refersTo: rows.map((row) => row.collection_id) };
};

const move: Handler = ({ tables }, [json]) => {
  type Step = { collection_id: string; worker_id: string; status: AssignmentStatus };
  const rows = parse<Step>(json).flatMap((step) => {
    const row = tables.assignments.get(keyOf(step.collection_id, step.worker_id));
    return row ? [{ ...row, status: step.status }] : [];
  });
  return { rows, writes: rows.map(assignment) };
};

const setRoutes: Handler = ({ tables, nextGeneration, faults }, [json]) => {
  const wanted = parse<Pick<SimRouteRow, 'collection_id' | 'endpoints'>>(json);
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

const setPools: Handler = ({ tables, nowMs }, [json]) => {
  type Lacking = { pool: string; unassigned: number; missing: number; asks: boolean };
  const lacking = parse<Lacking>(json);
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

const register: Handler = ({ tables, nowMs }, values) => {
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
  return { rows: [row], writes: [worker(row)] };
};

const ownOf = ({ assignments }: SimTables, id: unknown): SimAssignmentRow[] =>
  [...assignments.values()].filter(({ worker_id: workerId, status }) => workerId === id && status !== 'REMOVED');

const reset: Handler = ({ tables, nextGeneration }, [id]) => {
  const own = [...tables.assignments.values()].filter(
    (row) => row.worker_id === id && (row.status !== 'REMOVED' || row.failed_at !== null),
  );
  const rows = own.map((row) => {
    const isGone = row.status === 'DRAINING' || row.status === 'REMOVED' || row.excluded;
    const status = isGone ? ('REMOVED' as const) : ('PENDING' as const);
    return { ...row, ready_at: null, problem: null, failed_at: null, status, generation: nextGeneration() };
  });
  return { rows: [], writes: rows.map(assignment) };
};

const beat: Handler = ({ tables, nowMs, faults }, [id, incarnation, said, , beatable]) => {
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
  return { rows: [{ ...next, was: row.status }], writes: [worker(next)] };
};

const drain: Handler = ({ tables }, [id, incarnation]) => {
  const row = tables.workers.get(String(id));
  if (!row || (incarnation !== null && row.incarnation !== incarnation)) return { rows: [] };
  const isLive = row.status === 'STARTING' || row.status === 'READY';
  const next: SimWorkerRow = { ...row, is_draining: true, status: isLive ? 'DRAINING' : row.status };
  return { rows: [{ ...next, was: row.status }], writes: [worker(next)] };
};

interface Report {
  readonly collection_id: string;
  readonly generation: number;
  readonly status: AssignmentStatus;
  readonly cpu: number;
  readonly problem?: string;
}

const report: Handler = ({ tables, nowMs, faults }, [id, json, reportable]) => {
  const pairs = reportable as readonly string[];
  const changed: { readonly row: SimAssignmentRow; readonly has_changed: boolean }[] = [];
  for (const said of parse<Report>(json)) {
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
  return { rows: changed, writes: changed.map(({ row }) => assignment(row)) };
};

const orders: Handler = ({ tables }, [id]) => {
  const rows = ownOf(tables, id).flatMap((row) => {
    const collection = tables.collections.get(row.collection_id);
    return collection ? [{ ...row, name: collection.name }] : [];
  });
  return { rows: rows.toSorted((a, b) => a.generation - b.generation) };
};

const manualPair =
  (change: Partial<SimAssignmentRow>): Handler =>
  ({ tables }, [collectionId, workerId]) => {
    const row = tables.assignments.get(keyOf(String(collectionId), String(workerId)));
    return row ? { rows: [row], writes: [assignment({ ...row, ...change })] } : { rows: [] };
  };

const manualAssign: Handler = ({ tables, nowMs, nextGeneration }, [collectionId, workerId, tenantId]) => {
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
  return { rows: [row], writes: [assignment(row)], refersTo: [row.collection_id] };
};

const byId = <Row extends { readonly id: string }>(rows: Iterable<Row>): Row[] =>
  [...rows].toSorted((a, b) => (a.id < b.id ? -1 : 1));

const routesOf = (tables: SimTables, wanted: (id: string) => boolean): object[] =>
  [...tables.routes.values()].flatMap((row) => {
    const collection = tables.collections.get(row.collection_id);
    return collection && wanted(collection.id) ? [{ ...row, tenant_id: collection.tenant_id }] : [];
  });

const removeCollection: Handler = ({ tables }, [id]) => {
  const key = String(id);
  const own = [...tables.assignments.values()].filter((row) => row.collection_id === key);
  const writes: SimWrite[] = [
    { table: 'collections', key, row: undefined },
    { table: 'routes', key, row: undefined },
    ...own.map((row): SimWrite => ({ ...assignment(row), table: 'assignments', row: undefined })),
  ];
  return { rows: [], writes };
};

/** What PostgreSQL does for each statement of the control plane and the gateway, by its name; a test compares the two. */
export const simStatements: Readonly<Record<string, Handler>> = {
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
      .map((row) => ({ ...row, held: ownOf(tables, id).length })),
  }),
  'manual-pair': ({ tables }, [collectionId, workerId]) => ({
    rows: ownOf(tables, workerId).filter((row) => row.collection_id === collectionId),
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
