import type { ExecutionFilter, FinishedExecution } from '../execution-store.js';

/** Whether a filter lets an execution through; the limit is the caller's. */
export function matches({ accepted, outcome, redrivenAs }: FinishedExecution, filter: ExecutionFilter): boolean {
  const { executionId, acceptedAt } = accepted;
  if (accepted.tenantId !== filter.tenantId) return false;
  if (filter.functionName !== undefined && accepted.functionName !== filter.functionName) return false;
  if (filter.status !== undefined && outcome.status !== filter.status) return false;
  if (filter.from !== undefined && acceptedAt < filter.from) return false;
  if (filter.to !== undefined && acceptedAt >= filter.to) return false;
  if (filter.idempotencyKey !== undefined && accepted.idempotencyKey !== filter.idempotencyKey) return false;
  if (filter.traceId !== undefined && accepted.traceId !== filter.traceId) return false;
  if (filter.deadLettersOnly && (!outcome.deadLetter || redrivenAs !== undefined)) return false;
  if (filter.after === undefined) return true;
  return filter.oldestFirst ? executionId > filter.after : executionId < filter.after;
}
