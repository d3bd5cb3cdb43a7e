import { headerLine, isHeaderValue, requestHead } from '@drover/http-edge';
import type { Attempt } from '../dispatcher.js';

/** Headers of every call. Compression costs both sides more than it saves at this size. */
const commonLines =
  headerLine('content-type', 'application/json') +
  headerLine('accept-encoding', 'identity') +
  headerLine('user-agent', 'drover');

/** The request line and headers that all calls of a URL share. */
export function commonHead(url: URL): string {
  return requestHead('POST', url) + commonLines;
}

/** The header lines of a single call. */
export function ownLines(attempt: Attempt): string {
  const { accepted, number } = attempt;
  const { executionId } = accepted;
  let lines = headerLine('x-execution-id', executionId) + headerLine('x-dispatch-attempt', String(number));
  lines += lineIfFit('x-trace-id', accepted.traceId);
  lines += lineIfFit('idempotency-key', accepted.idempotencyKey);
  lines += lineIfFit('traceparent', accepted.traceparent);
  lines += lineIfFit('tracestate', accepted.tracestate);
  // The name and form that nanoFaaS runtimes read: they post to `<base>/<executionId>:complete`. The token in it needs no API key.
  return lines + headerLine('x-callback-url', attempt.callbackBaseUrl());
}

/** Values of callers are unchecked: an invalid one is left out and does not fail the call. */
function lineIfFit(name: string, value: string | undefined): string {
  return value !== undefined && isHeaderValue(value) ? headerLine(name, value) : '';
}

/** Concatenates the body: the payload is JSON already. */
export function requestBody({ payload, metadata, headers }: Attempt['accepted']): string {
  let body = `{"input":${payload.json},"metadata":`;
  body += metadata === undefined ? '{}' : JSON.stringify(metadata);
  if (headers !== undefined) body += `,"headers":${JSON.stringify(headers)}`;
  if (payload.encoding !== undefined) body += `,"encoding":"${payload.encoding}"`;
  return `${body}}`;
}
