import type { Outcome } from '@drover/execution-store';
import type { Invocation } from '@drover/contracts';
import { toRaw } from '../executions/raw-output.js';
import type { ResultDelivery } from './result-callbacks.js';

/** What is posted where the result of an execution was asked for: the output as it is, or what went wrong. */
export function toDelivery(invocation: Invocation, url: string, outcome: Outcome): ResultDelivery {
  const { executionId, tenantId, functionName, acceptedAt } = invocation;
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
