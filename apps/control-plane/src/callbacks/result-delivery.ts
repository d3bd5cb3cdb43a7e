import type { AcceptedCall, FinalExecutionState, TenantId } from '@drover/contracts';
import type { ExecutionOutcome, FinishedExecution, PendingCallback } from '@drover/execution-store';
import { toRaw } from '../executions/raw-output.js';

/** The result of an execution, to be posted to its callback URL. */
export interface ResultDelivery {
  readonly url: string;
  readonly tenantId: TenantId;
  readonly executionId: string;
  readonly functionName: string;
  readonly status: FinalExecutionState;
  /** The HTTP status that the handler chose, if it did. */
  readonly statusCode?: number | undefined;
  readonly durationMs: number;
  readonly body: string | Buffer;
  readonly contentType: string;
  /**
   * Set when the store holds the result, so that it is delivered later if it is not admitted or not finished now. Aborts when this
   * replica no longer owns the execution.
   */
  readonly ownership?: AbortSignal;
}

/** Returns the delivery of a result: the output as it is, or the error. */
export function toResultDelivery(accepted: AcceptedCall, url: string, outcome: ExecutionOutcome): ResultDelivery {
  const { executionId, tenantId, functionName, acceptedAt } = accepted;
  const { status, statusCode, finishedAt, output, error, headers } = outcome;
  const failed = {
    body: JSON.stringify({ executionId, status, error: error ?? null }),
    contentType: 'application/json',
  };
  const { body, contentType } = status === 'success' && output ? toRaw(output) : failed;
  return {
    url,
    tenantId,
    executionId,
    functionName,
    status,
    statusCode,
    durationMs: finishedAt - acceptedAt,
    body,
    contentType: (status === 'success' ? headers?.['content-type'] : undefined) ?? contentType,
  };
}

/** What to do about a pending callback: deliver its result, or give up, and why. */
export type PendingDecision =
  | { readonly kind: 'deliver'; readonly delivery: ResultDelivery }
  | { readonly kind: 'give-up'; readonly problem: string };

export function decidePending(
  pending: PendingCallback,
  finished: FinishedExecution | undefined,
  now: number,
): PendingDecision {
  if (finished?.accepted.callbackUrl === undefined) return giveUp('its execution is no longer stored');
  const { accepted, outcome, evicted } = finished;
  if (pending.dueUntil <= now) return giveUp('it could not be delivered within a day');
  // An error is stored even when the output is evicted.
  if (evicted && outcome.status === 'success') return giveUp('its output was evicted');
  return { kind: 'deliver', delivery: toResultDelivery(accepted, finished.accepted.callbackUrl, outcome) };
}

function giveUp(problem: string): PendingDecision {
  return { kind: 'give-up', problem };
}
