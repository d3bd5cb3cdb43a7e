import type { IncomingMessage } from 'node:http';
import { connectionHeaders, namedByConnection } from '@drover/contracts';

/** What only we may say. */
const ours = new Set(['x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-for']);

/** Names and values in turn, as the client sent them, with who asked and how added. */
export function forwardedHeaders(request: IncomingMessage): string[] {
  const { rawHeaders, socket, headers } = request;
  const dropped = namedByConnection(headers.connection);
  const kept = pairs(rawHeaders).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    return connectionHeaders.has(lower) || ours.has(lower) || dropped.has(lower) ? [] : [name, value];
  });
  // How long the body is was not said: then it comes in pieces.
  if (headers['transfer-encoding'] !== undefined) kept.push('transfer-encoding', 'chunked');
  kept.push('x-forwarded-proto', 'http', 'x-forwarded-for', socket.remoteAddress ?? 'unknown');
  if (headers.host !== undefined) kept.push('x-forwarded-host', headers.host);
  return kept;
}

/** As the runtime sent them. */
export function returnedHeaders({ rawHeaders, headers }: IncomingMessage): string[] {
  const dropped = namedByConnection(headers.connection);
  return pairs(rawHeaders).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    return connectionHeaders.has(lower) || dropped.has(lower) ? [] : [name, value];
  });
}

function pairs(rawHeaders: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    list.push([rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '']);
  return list;
}
