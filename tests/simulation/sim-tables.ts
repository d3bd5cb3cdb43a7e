import type { AssignmentStatus, CollectionRoute, CollectionWorkerStatus } from '@drover/contracts';

export interface SimWorkerRow {
  readonly id: string;
  readonly status: CollectionWorkerStatus;
  readonly incarnation: number;
  readonly base_url: string;
  readonly pool: string;
  readonly capacity: number;
  readonly tenant_affinity: string | null;
  readonly zone: string | null;
  readonly is_draining: boolean;
  readonly last_heartbeat: number;
  readonly process_token: string | null;
}

export interface SimAssignmentRow {
  readonly collection_id: string;
  readonly worker_id: string;
  readonly tenant_id: string;
  readonly status: AssignmentStatus;
  readonly generation: number;
  readonly replaces: string | null;
  readonly manual: boolean;
  readonly excluded: boolean;
  readonly problem: string | null;
  readonly load: number;
  readonly assigned_at: Date;
  readonly ready_at: number | null;
  readonly failed_at: Date | null;
}

export interface SimCollectionRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
}

export interface SimRouteRow {
  readonly collection_id: string;
  readonly generation: number;
  readonly endpoints: CollectionRoute['endpoints'];
}

interface SimPoolRow {
  readonly pool: string;
  readonly unassigned: number;
  readonly missing: number;
  readonly asked_at: Date;
}

interface SimPassRow {
  readonly checked_at: Date;
  readonly watching_since: Date;
  readonly passed_at: Date | null;
  readonly fingerprint: string | null;
}

interface Rows {
  readonly workers: SimWorkerRow;
  readonly collections: SimCollectionRow;
  readonly assignments: SimAssignmentRow;
  readonly routes: SimRouteRow;
  readonly pools: SimPoolRow;
  readonly passes: SimPassRow;
}
export type SimTable = keyof Rows;

/** The tables of assignments by primary key. Rows are replaced, never changed. */
export type SimTables = { readonly [Table in SimTable]: Map<string, Rows[Table]> };

/** A row that a statement inserts, changes, or deletes. */
export type SimWrite = {
  [Table in SimTable]: { readonly table: Table; readonly key: string; readonly row: Rows[Table] | undefined };
}[SimTable];

export const keyOf = (collectionId: string, workerId: string): string => `${collectionId} ${workerId}`;

export function emptyTables(): SimTables {
  const start = new Date(0);
  const pass = { checked_at: start, watching_since: start, passed_at: null, fingerprint: null };
  return {
    workers: new Map(),
    collections: new Map(),
    assignments: new Map(),
    routes: new Map(),
    pools: new Map(),
    passes: new Map([['only', pass]]),
  };
}

/** Defects of the statements that the simulation must find. */
export const sqlFaults = [
  'a report about an earlier assignment counts',
  'a heartbeat of an earlier process counts',
  'stale workers stay READY',
  'a route keeps its generation',
] as const;
export type SqlFault = (typeof sqlFaults)[number];
