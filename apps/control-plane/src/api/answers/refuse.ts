import type { CallRefusal } from '../../executions/call-results.js';
import type { Exchange } from '../exchange/exchange.js';

/** Refuses a call with `Retry-After` and the queue's reason as headers. */
export function refuse(exchange: Exchange, { error, retryAfterSeconds, reason }: CallRefusal): void {
  const headers: string[] = [];
  if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds));
  if (reason !== undefined) headers.push('x-queue-reject-reason', reason);
  const { executionId } = error.details;
  if (typeof executionId === 'string') headers.push('x-execution-id', executionId);
  exchange.refuse(error, headers);
}
