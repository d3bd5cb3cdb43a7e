import type { ExecutionOutcome } from '@drover/execution-store';
import type { AcceptedCall } from '@drover/contracts';
import { toRaw } from '../executions/raw-output.js';
import type { ResultDelivery } from './result-callbacks.js';

/** What is posted where the result of an execution was asked for: the output as it is, or what went wrong. */
export function toDelivery(accepted: AcceptedCall, url: string, outcome: ExecutionOutcome): ResultDelivery {
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
