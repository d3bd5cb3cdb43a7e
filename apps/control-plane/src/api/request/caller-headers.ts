import { connectionHeaders, namedByConnection } from '@drover/contracts';
import type { EdgeRequest } from '@drover/http-edge';

/** Headers of the connection or the platform, and credentials: not passed to handlers. */
const withheld = new Set([
  ...connectionHeaders,
  'authorization',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'idempotency-key',
  'traceparent',
  'tracestate',
  'x-callback-url',
  'x-drover-forwarded',
  'x-functions-key',
  'x-timeout-ms',
  'x-trace-id',
]);

/** Returns the caller's headers for the handler, or undefined if there are none. */
export function callerHeaders({
  headers,
  rawHeaders,
}: Pick<EdgeRequest, 'headers' | 'rawHeaders'>): Readonly<Record<string, string>> | undefined {
  const { connection } = headers;
  const dropped = connection === undefined || connection === 'keep-alive' ? undefined : namedByConnection(connection);
  let kept: Record<string, string> | undefined;
  let names = 0;
  for (const name in headers) {
    names += 1;
    if (withheld.has(name) || dropped?.has(name)) continue;
    const value = headers[name];
    const first = typeof value === 'string' ? value : value?.[0];
    if (first !== undefined) (kept ??= Object.create(null) as Record<string, string>)[name] = first; // no prototype: names come from outside
  }
  // Node joins repeated headers; handlers get the first value.
  if (kept && names * 2 !== rawHeaders.length) keepFirst(kept, rawHeaders);
  return kept;
}

function keepFirst(kept: Record<string, string>, rawHeaders: readonly string[]): void {
  for (let index = rawHeaders.length - 2; index >= 0; index -= 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (name in kept) kept[name] = rawHeaders[index + 1] ?? '';
  }
}
