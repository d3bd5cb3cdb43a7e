import { headerLine, isHeaderValue, requestHead } from '@drover/http-edge';
import type { Attempt } from '../dispatcher.js';

/** What every call of every function carries. Compressed answers cost both sides more than they save at this size. */
const commonLines =
  headerLine('content-type', 'application/json') +
  headerLine('accept-encoding', 'identity') +
  headerLine('user-agent', 'drover');

/** What all calls to a URL begin with. */
export function commonHead(url: URL): string {
  return requestHead('POST', url) + commonLines;
}

/** What a single call has to say beside it, line by line. */
export function ownLines(attempt: Attempt, offersCallback: boolean): string {
  const { accepted, number } = attempt;
  const { executionId } = accepted;
  let lines = headerLine('x-execution-id', executionId) + headerLine('x-dispatch-attempt', String(number));
  lines += lineIfFit('x-trace-id', accepted.traceId);
  lines += lineIfFit('idempotency-key', accepted.idempotencyKey);
  lines += lineIfFit('traceparent', accepted.traceparent);
  lines += lineIfFit('tracestate', accepted.tracestate);
  if (offersCallback)
    lines += headerLine('x-drover-callback-url', `${attempt.callbackBaseUrl()}/${executionId}:complete`);
  return lines;
}

/** What came from a caller unchecked must not end a call that is good otherwise. */
function lineIfFit(name: string, value: string | undefined): string {
  return value !== undefined && isHeaderValue(value) ? headerLine(name, value) : '';
}

/** Spliced, not serialised: the payload is JSON already. */
export function requestBody({ payload, metadata, headers }: Attempt['accepted']): string {
  let body = `{"input":${payload.json},"metadata":`;
  body += metadata === undefined ? '{}' : JSON.stringify(metadata);
  if (headers !== undefined) body += `,"headers":${JSON.stringify(headers)}`;
  if (payload.encoding !== undefined) body += `,"encoding":"${payload.encoding}"`;
  return `${body}}`;
}
