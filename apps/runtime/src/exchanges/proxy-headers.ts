import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { connectionHeaders, namedByConnection } from '@drover/contracts';

/** Said by us and by nobody else: a caller could name another invocation, or another address. */
const ours = new Set(['expect', 'host', 'x-ms-invocation-id', 'x-forwarded-host', 'x-forwarded-proto']);

/** What a worker's server is told about a request. */
export function forwardedHeaders(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  call: {
    readonly httpUri: URL;
    readonly invocationId: string;
    readonly scheme: string;
    readonly host: string;
    readonly body: Buffer | undefined;
  },
): OutgoingHttpHeaders {
  const named = namedByConnection(headers.connection);
  const forwarded: OutgoingHttpHeaders = Object.create(null);
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !connectionHeaders.has(name) && !ours.has(name) && !named.has(name))
      forwarded[name] = value;
  // It was read whole, so its length is known whatever the caller said.
  if (call.body) {
    if (call.body.byteLength > 0) forwarded['content-length'] = call.body.byteLength;
    else delete forwarded['content-length'];
  }
  const before = headers['x-forwarded-for'];
  const address = socket.remoteAddress ?? 'unknown';
  forwarded['host'] = call.httpUri.host;
  forwarded['x-ms-invocation-id'] = call.invocationId;
  forwarded['x-forwarded-host'] = call.host;
  forwarded['x-forwarded-proto'] = call.scheme;
  forwarded['x-forwarded-for'] = before === undefined ? address : `${String(before)}, ${address}`;
  return forwarded;
}

/** What the caller is told of a worker's answer: names and values in turn. */
export function endToEndHeaders({ rawHeaders, headers }: IncomingMessage): readonly string[] {
  const named = namedByConnection(headers.connection);
  const list: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const folded = name.toLowerCase();
    if (!connectionHeaders.has(folded) && !named.has(folded)) list.push(name, rawHeaders[index + 1] ?? '');
  }
  return list;
}
