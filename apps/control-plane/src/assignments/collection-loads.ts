import type { AssignmentPlan, AssignmentStep } from './assignment-facts.js';
import type { AssignmentRow } from './assignment-rows.js';

type LoadRow = Pick<AssignmentRow, 'collection_id' | 'worker_id' | 'status' | 'replaces' | 'load' | 'assigned_at'>;

const keyOf = (collectionId: string, workerId: string | null): string => `${collectionId} ${workerId}`;

/**
 * Adds up the load of each collection over its replicas. During a move the old and the new assignment have the same load: the old one
 * counts. A move or the loss of a worker must not look like a change of load, because rebalancing would answer it with more moves.
 */
export function collectionLoads(rows: readonly LoadRow[]): Map<string, number> {
  const live = rows.filter(({ status }) => status !== 'DRAINING' && status !== 'REMOVED');
  const known = new Map(live.map((row) => [keyOf(row.collection_id, row.worker_id), row.assigned_at]));
  const loads = new Map<string, number>();
  for (const { collection_id: id, replaces, load, assigned_at: madeAt } of live) {
    const replacedAt = known.get(keyOf(id, replaces));
    const isMoving = replacedAt !== undefined && replacedAt <= madeAt;
    if (!isMoving) loads.set(id, (loads.get(id) ?? 0) + load);
  }
  return loads;
}

/** Returns the load that each new assignment starts with: that of the one which it replaces, or a part of what a lost worker had. */
export function inheritedLoads(
  { assign, remove }: AssignmentPlan,
  rows: readonly LoadRow[],
): (step: AssignmentStep & { readonly replaces?: string }) => number {
  const loads = new Map(rows.map((row) => [keyOf(row.collection_id, row.worker_id), row.load]));
  const lost = new Map<string, number>();
  for (const { collectionId: id, workerId } of remove)
    lost.set(id, (lost.get(id) ?? 0) + (loads.get(keyOf(id, workerId)) ?? 0));
  const heirs = new Map<string, number>();
  for (const { collectionId: id, replaces } of assign)
    if (replaces === undefined) heirs.set(id, (heirs.get(id) ?? 0) + 1);
  return ({ collectionId: id, replaces }) =>
    replaces === undefined
      ? (lost.get(id) ?? 0) / Math.max(1, heirs.get(id) ?? 1)
      : (loads.get(keyOf(id, replaces)) ?? 0);
}
