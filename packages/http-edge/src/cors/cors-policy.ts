import type { IncomingHttpHeaders } from 'node:http';

/** Which pages of other origins may call, and what they may read of the answers. */
export interface CorsPolicy {
  /** `*` for all origins. */
  readonly origins: readonly string[];
  /** Has no effect while all origins are allowed: browsers send credentials to named origins only. */
  readonly allowsCredentials: boolean;
  /** Headers of answers that scripts may read beside those that they always may. */
  readonly exposedHeaders?: readonly string[];
  /** How long browsers remember the answer to a preflight; theirs unless given. */
  readonly maxAgeSeconds?: number;
}

type Headers = Readonly<Record<string, string | undefined>> | Readonly<IncomingHttpHeaders>;

/** Returns the CORS headers of an answer; names in lower case and values alternate. None without a policy or an origin. */
export function corsHeaders(policy: CorsPolicy | undefined, origin: string | undefined): readonly string[] {
  if (!policy || origin === undefined) return none;
  const allowed = allowedOrigin(policy, origin);
  if (allowed[0] !== allowOrigin) return allowed;
  const { exposedHeaders = [] } = policy;
  return exposedHeaders.length === 0
    ? allowed
    : [...allowed, 'access-control-expose-headers', exposedHeaders.join(', ')];
}

/** Whether a request is a CORS preflight, which is answered in place of the server that it is about. */
export function isPreflight(method: string | undefined, headers: Headers): boolean {
  return method === 'OPTIONS' && 'origin' in headers && 'access-control-request-method' in headers;
}

/** Returns the headers of the answer to a preflight, which has the status 204. An origin that is not allowed gets no permission. */
export function preflightHeaders(policy: CorsPolicy, headers: Headers): readonly string[] {
  const { origin } = headers;
  const allowed = typeof origin === 'string' ? allowedOrigin(policy, origin) : none;
  if (allowed[0] !== allowOrigin) return allowed;
  const answer = [...allowed, 'access-control-allow-methods', textOf(headers['access-control-request-method'])];
  const wanted = textOf(headers['access-control-request-headers']);
  if (wanted !== '') answer.push('access-control-allow-headers', wanted);
  if (policy.maxAgeSeconds !== undefined) answer.push('access-control-max-age', String(policy.maxAgeSeconds));
  return answer;
}

/** Returns only `Vary` for an origin that is not allowed: a cache must not show it the answer to another one, nor the reverse. */
function allowedOrigin({ origins, allowsCredentials }: CorsPolicy, origin: string): readonly string[] {
  if (origins.includes('*')) return forAll;
  if (!origins.includes(origin)) return varyOnly;
  const allowed = [allowOrigin, origin, ...varyOnly];
  return allowsCredentials ? [...allowed, 'access-control-allow-credentials', 'true'] : allowed;
}

const none: readonly string[] = [];
const varyOnly: readonly string[] = ['vary', 'Origin'];
const allowOrigin = 'access-control-allow-origin';
const forAll: readonly string[] = [allowOrigin, '*'];

const textOf = (value: string | readonly string[] | undefined): string => (typeof value === 'string' ? value : '');
