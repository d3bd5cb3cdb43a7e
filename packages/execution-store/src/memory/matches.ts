import type { ExecutionFilter, FinishedExecution } from '../execution-store.js';

/** Whether a filter lets an execution through; the limit is the caller's. */
export function matches({ invocation, outcome, redrivenAs }: FinishedExecution, filter: ExecutionFilter): boolean {
  const { executionId, acceptedAt } = invocation;
  if (invocation.tenantId !== filter.tenantId) return false;
  if (filter.functionName !== undefined && invocation.functionName !== filter.functionName) return false;
  if (filter.status !== undefined && outcome.status !== filter.status) return false;
  if (filter.from !== undefined && acceptedAt < filter.from) return false;
  if (filter.to !== undefined && acceptedAt >= filter.to) return false;
  if (filter.idempotencyKey !== undefined && invocation.idempotencyKey !== filter.idempotencyKey) return false;
  if (filter.traceId !== undefined && invocation.traceId !== filter.traceId) return false;
  if (filter.deadLettersOnly && (!outcome.deadLetter || redrivenAs !== undefined)) return false;
  if (filter.after === undefined) return true;
  return filter.oldestFirst ? executionId > filter.after : executionId < filter.after;
}
