import { CodedError, type ErrorTraits } from '../errors/define-error.js';
import { serverUnreachable, unexpectedAnswer } from '../errors/errors.js';
import type { Route, RouteInput, RouteOutput } from './route.js';

export interface ClientOptions {
  /** Where the API is served, without a path: `http://127.0.0.1:7070`. */
  readonly url: string;
  readonly apiKey?: string;
  /** How requests are sent; the platform's own `fetch` unless told otherwise. */
  readonly fetch?: typeof fetch;
}

type Succeeded<Output> = Output extends { readonly status: 200 | 201 | 202 | 204; readonly body: infer Body }
  ? Body
  : never;

/** One method per route; resolves with the body of a success, rejects with the server's own error code. */
export type Client<Routes extends Readonly<Record<string, Route>>> = {
  readonly [Name in keyof Routes]: (
    ...input: unknown extends RouteInput<Routes[Name]> ? [] : [input: RouteInput<Routes[Name]>]
  ) => Promise<Succeeded<RouteOutput<Routes[Name]>>>;
};

interface Parts {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
}

export function createClient<const Routes extends Readonly<Record<string, Route>>>(
  routes: Routes,
  options: ClientOptions,
): Client<Routes> {
  const methods = Object.entries(routes).map(([name, route]) => [
    name,
    (input: Parts = {}) => call(route, input, options),
  ]);
  return Object.fromEntries(methods) as Client<Routes>; // one method per route, by construction
}

async function call(route: Route, { params = {}, query = {}, body }: Parts, options: ClientOptions): Promise<unknown> {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const url = new URL(path, options.url);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  const headers: Record<string, string> = { accept: 'application/json' };
  if (options.apiKey !== undefined) headers['authorization'] = `Bearer ${options.apiKey}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const send = options.fetch ?? fetch;
  let response: Response;
  try {
    response = await send(url, {
      method: route.method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw serverUnreachable({ url: options.url, reason: reasonOf(error) }, error);
  }
  const text = await response.text();
  if (response.ok) return text === '' ? undefined : parseAnswer(route, url, response.status, text);
  throw errorFrom(route, url, response.status, text);
}

function parseAnswer(route: Route, url: URL, status: number, text: string): unknown {
  const contentType = route.responses[status]?.contentType;
  if (contentType !== undefined) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw unexpectedAnswer({ method: route.method, url: url.href, status, reason: 'not JSON' });
  }
}

/** The error as the server named it; traits follow from the status, since the other side may be newer than we are. */
function errorFrom(route: Route, url: URL, status: number, text: string): CodedError {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isErrorBody(parsed)) return new CodedError(parsed.error, traitsOf(status), parsed.message, parsed);
  } catch {
    // fall through: not one of our servers
  }
  return unexpectedAnswer({
    method: route.method,
    url: url.href,
    status,
    reason: text.slice(0, 200) || 'an empty body',
  });
}

function isErrorBody(value: unknown): value is { error: string; message: string } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'error' in value &&
    typeof value.error === 'string' &&
    'message' in value &&
    typeof value.message === 'string'
  );
}

function traitsOf(status: number): ErrorTraits {
  const retryable = status === 429 || status >= 500;
  return { fault: status >= 500 ? 'platform' : 'caller', retryable, status };
}

function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message || String('code' in cause ? cause.code : cause.name) : String(cause);
}
