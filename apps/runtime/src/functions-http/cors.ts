import type { IncomingHttpHeaders } from 'node:http';
import type { CorsOptions } from '../applications/local-settings.js';

/** Headers, names and values in turn, that let a page of another origin read an answer; none when it may not. */
export function corsHeaders(cors: CorsOptions | undefined, origin: string | undefined): readonly string[] {
  if (!cors || origin === undefined) return none;
  if (cors.origins.includes('*')) return forAll;
  // What depends on the origin must not be kept for another one, whether or not this one is allowed.
  if (!cors.origins.includes(origin)) return ['vary', 'Origin'];
  const allowed = ['access-control-allow-origin', origin, 'vary', 'Origin'];
  return cors.allowsCredentials ? [...allowed, 'access-control-allow-credentials', 'true'] : allowed;
}

/** True for the question whether a request may be sent, which no function has to answer. */
export function isPreflight(method: string, headers: IncomingHttpHeaders): boolean {
  return method === 'OPTIONS' && 'origin' in headers && 'access-control-request-method' in headers;
}

/** The answer to that question. */
export function preflightHeaders(cors: CorsOptions, headers: IncomingHttpHeaders): readonly string[] {
  const allowed = corsHeaders(cors, headers.origin);
  if (!allowed.includes('access-control-allow-origin')) return allowed;
  const answer = [...allowed, 'access-control-allow-methods', headers['access-control-request-method'] ?? ''];
  const wanted = headers['access-control-request-headers'];
  return wanted === undefined ? answer : [...answer, 'access-control-allow-headers', wanted];
}

const none: readonly string[] = [];
const forAll: readonly string[] = ['access-control-allow-origin', '*'];
