import type { FastLaneRequestHead } from '../server/fast-lane/fast-lane-request.js';
import type { HeadChanges } from './forwarded-request.js';
import { endToEndHeaders } from './hop-by-hop.js';

/** Headers that only the gateway may set: a client could claim another address. */
const ours = new Set(['x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-for']);

/** Returns what the gateway changes in a request: it replaces the client's X-Forwarded headers with its own. */
export function forwardedChanges(remoteAddress: string | undefined, host: string | undefined): HeadChanges {
  const own = `x-forwarded-proto: http\r\nx-forwarded-for: ${remoteAddress ?? 'unknown'}\r\n`;
  return { drops: isOurs, added: host === undefined ? own : `${own}x-forwarded-host: ${host}\r\n` };
}

/** Returns the head as it would arrive through the gateway, for a request whose connection the gateway passed on. */
export function forwardedByConnection(
  head: FastLaneRequestHead,
  remoteAddress: string | undefined,
): FastLaneRequestHead {
  const rawHeaders: string[] = [];
  const add = (name: string, value: string): number => rawHeaders.push(name, value);
  const received = endToEndHeaders(head.rawHeaders);
  for (let index = 0; index + 1 < received.length; index += 2) {
    const name = received[index] ?? '';
    if (!isOurs(name)) add(name, received[index + 1] ?? '');
  }
  add('x-forwarded-proto', 'http');
  add('x-forwarded-for', remoteAddress ?? 'unknown');
  add('x-forwarded-host', head.headers['host'] ?? '');
  add('connection', 'keep-alive');
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    headers[rawHeaders[index]?.toLowerCase() ?? ''] = rawHeaders[index + 1] ?? '';
  return { ...head, headers, rawHeaders };
}

/** Looks at names of a fitting length only: lower-casing each would double the cost of writing a head. */
function isOurs(name: string): boolean {
  return name.length >= 15 && name.length <= 17 && ours.has(name.toLowerCase());
}
