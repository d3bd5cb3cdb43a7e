import type { HeadChanges } from '@drover/http-edge';

/** Headers that only the gateway may set: a client could claim another address. */
const ours = new Set(['x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-for']);

/** Returns what the gateway changes in a request: it replaces the client's X-Forwarded headers with its own. */
export function forwardedChanges(remoteAddress: string | undefined, host: string | undefined): HeadChanges {
  const own = `x-forwarded-proto: http\r\nx-forwarded-for: ${remoteAddress ?? 'unknown'}\r\n`;
  return { drops: isOurs, added: host === undefined ? own : `${own}x-forwarded-host: ${host}\r\n` };
}

/** Looks at names of a fitting length only: lower-casing each would double the cost of writing a head. */
function isOurs(name: string): boolean {
  return name.length >= 15 && name.length <= 17 && ours.has(name.toLowerCase());
}
