import type { IncomingHttpHeaders } from 'node:http';
import type { CorsOptions } from '../applications/local-settings.js';

/** Returns the CORS headers of a response; names and values alternate. */
export function corsHeaders(cors: CorsOptions | undefined, origin: string | undefined): readonly string[] {
  if (!cors || origin === undefined) return none;
  if (cors.origins.includes('*')) return forAll;
  // Responses that depend on the origin must not be cached for another one, even if this one is not allowed.
  if (!cors.origins.includes(origin)) return ['vary', 'Origin'];
  const allowed = ['access-control-allow-origin', origin, 'vary', 'Origin'];
  return cors.allowsCredentials ? [...allowed, 'access-control-allow-credentials', 'true'] : allowed;
}

/** Whether a request is a CORS preflight, which is answered without a function. */
export function isPreflight(method: string, headers: IncomingHttpHeaders): boolean {
  return method === 'OPTIONS' && 'origin' in headers && 'access-control-request-method' in headers;
}

/** Returns the headers of a preflight response. */
export function preflightHeaders(cors: CorsOptions, headers: IncomingHttpHeaders): readonly string[] {
  const allowed = corsHeaders(cors, headers.origin);
  if (!allowed.includes('access-control-allow-origin')) return allowed;
  const answer = [...allowed, 'access-control-allow-methods', headers['access-control-request-method'] ?? ''];
  const wanted = headers['access-control-request-headers'];
  return wanted === undefined ? answer : [...answer, 'access-control-allow-headers', wanted];
}

const none: readonly string[] = [];
const forAll: readonly string[] = ['access-control-allow-origin', '*'];
