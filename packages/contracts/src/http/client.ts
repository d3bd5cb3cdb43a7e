import { CodedError, type ErrorTraits } from '../errors/define-error.js';
import { requestUnsendable, serverUnreachable, unexpectedAnswer } from '../errors/errors.js';
import type { ErrorBody } from './error-body.js';
import type { Route, RouteInput, RouteOutput } from './route.js';

export interface ClientOptions {
  /** Where the API is served, without a path: `http://127.0.0.1:7070`. */
  readonly url: string;
  readonly apiKey?: string;
  /** How requests are sent; the platform's own `fetch` unless told otherwise. */
  readonly fetch?: typeof fetch;
  /** How long one call may take; 30 s unless told otherwise. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 30_000;

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
  const url = addressOf(route, params, query, options);
  const headers: Record<string, string> = { accept: 'application/json' };
  if (options.apiKey !== undefined) headers['authorization'] = `Bearer ${checkedKey(options.apiKey)}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const request = { method: route.method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const answer = await send(url, request, options);
  if (answer.ok) return parseAnswer(route, url, answer);
  throw errorFrom(route, url, answer);
}

/** The whole answer: a connection that breaks in the middle of one has not answered. */
async function send(url: URL, request: RequestInit, options: ClientOptions): Promise<Answer> {
  try {
    const signal = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
    const response = await (options.fetch ?? fetch)(url, { ...request, signal });
    return { status: response.status, ok: response.ok, text: await response.text() };
  } catch (error) {
    throw serverUnreachable({ url: options.url, reason: reasonOf(error) }, error);
  }
}

interface Answer {
  readonly status: number;
  readonly ok: boolean;
  readonly text: string;
}

function addressOf(
  route: Route,
  params: NonNullable<Parts['params']>,
  query: NonNullable<Parts['query']>,
  options: ClientOptions,
): URL {
  if (!URL.canParse(options.url))
    throw requestUnsendable({
      part: `the address ${options.url}`,
      problem: 'is not a URL: http://127.0.0.1:7070 is one',
    });
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathSegment(name, String(params[name] ?? '')));
  const url = new URL(path, options.url);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

/** A URL takes `.` and `..` for steps, however they are encoded: such a parameter would lead to another route. */
function pathSegment(name: string, value: string): string {
  if (value === '' || value === '.' || value === '..')
    throw requestUnsendable({ part: `parameter ${name}`, problem: 'is empty or made of dots only' });
  if (/\p{Surrogate}/u.test(value))
    throw requestUnsendable({ part: `parameter ${name}`, problem: 'has half a character in it' });
  return encodeURIComponent(value);
}

/** Checked here, since whoever refuses it later quotes it. */
function checkedKey(apiKey: string): string {
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw requestUnsendable({ part: 'the API key', problem: 'has spaces or other characters that no key has' });
  return apiKey;
}

/** The body of a success, as the route declares it for that status. */
function parseAnswer(route: Route, url: URL, { status, text }: Answer): unknown {
  const unexpected = (reason: string) => unexpectedAnswer({ method: route.method, url: url.href, status, reason });
  const declared = route.responses[status];
  if (!declared) throw unexpected('a status that this operation does not have');
  if (!declared.schema) return undefined;
  if (declared.contentType !== undefined) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw unexpected(text === '' ? 'an empty body' : 'not JSON');
  }
}

/** The error as the server named it; traits follow from the status, since the other side may be newer than we are. */
function errorFrom(route: Route, url: URL, { status, text }: Answer): CodedError {
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

/** Others have `error` and `message` too: it takes a code like ours, and the request id that only we have. */
function isErrorBody(value: unknown): value is ErrorBody {
  return (
    typeof value === 'object' &&
    value !== null &&
    'error' in value &&
    typeof value.error === 'string' &&
    /^[A-Z][A-Z0-9_]*$/.test(value.error) &&
    'message' in value &&
    typeof value.message === 'string' &&
    'requestId' in value &&
    typeof value.requestId === 'string'
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
