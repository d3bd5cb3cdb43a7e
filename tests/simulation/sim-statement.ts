import {
  keyOf,
  type SimAssignmentRow,
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

export type StatementHandler = (context: StatementContext, values: readonly unknown[]) => StatementEffect;

export const parseRows = <Row>(json: unknown): Row[] => JSON.parse(String(json)) as Row[];

export const workerWrite = (row: SimWorkerRow): SimWrite => ({ table: 'workers', key: row.id, row });
export const assignmentWrite = (row: SimAssignmentRow): SimWrite => ({
  table: 'assignments',
  key: keyOf(row.collection_id, row.worker_id),
  row,
});

/** What a worker holds. */
export const heldBy = ({ assignments }: SimTables, id: unknown): SimAssignmentRow[] =>
  [...assignments.values()].filter(({ worker_id: workerId, status }) => workerId === id && status !== 'REMOVED');
