import type { Attempt } from '../dispatcher.js';

/** What every call of every function carries. Compressed answers cost both sides more than they save at this size. */
const commonHeaders = ['content-type', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'drover'];

/** Visible text and spaces: what came from a caller unchecked must not end a call that is good otherwise. */
const sendable = /^[\x20-\x7e]+$/;

/** Names and values in turn, as undici takes them cheapest. */
export function requestHeaders(attempt: Attempt, offersCallback: boolean): string[] {
  const { invocation, number } = attempt;
  const headers = [...commonHeaders, 'x-execution-id', invocation.executionId, 'x-dispatch-attempt', String(number)];
  add(headers, 'x-trace-id', invocation.traceId);
  add(headers, 'idempotency-key', invocation.idempotencyKey);
  add(headers, 'traceparent', invocation.traceparent);
  add(headers, 'tracestate', invocation.tracestate);
  if (offersCallback)
    headers.push('x-drover-callback-url', `${attempt.callbackBaseUrl()}/${invocation.executionId}:complete`);
  return headers;
}

function add(headers: string[], name: string, value: string | undefined): void {
  if (value !== undefined && sendable.test(value)) headers.push(name, value);
}

/** Spliced, not serialised: the payload is JSON already. */
export function requestBody({ payload, metadata, headers }: Attempt['invocation']): string {
  let body = `{"input":${payload.json},"metadata":`;
  body += metadata === undefined ? '{}' : JSON.stringify(metadata);
  if (headers !== undefined) body += `,"headers":${JSON.stringify(headers)}`;
  if (payload.encoding !== undefined) body += `,"encoding":"${payload.encoding}"`;
  return `${body}}`;
}
