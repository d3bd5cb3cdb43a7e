import { CodedError, type ErrorTraits } from '../errors/define-error.js';
import { requestUnsendable, serverUnreachable, unexpectedAnswer } from '../errors/errors.js';
import { respondAsync, waitingForHeader } from './change-headers.js';
import type { ErrorBody } from './error-body.js';
import type { Route, RouteInput, RouteOutput } from './route.js';

export interface ClientOptions {
  /** Base URL of the server, without a path: `http://127.0.0.1:7070`. */
  readonly url: string;
  readonly apiKey?: string;
  /** Sends requests; by default the global `fetch`. */
  readonly fetch?: SendRequest;
  /** Time limit of one call; 30 s by default. */
  readonly timeoutMs?: number;
  /** Changes are answered as soon as they are stored, before they hold everywhere. */
  readonly isAsync?: boolean;
  /** Called after a change that is stored but does not hold everywhere yet, with what it waits for. */
  readonly onWaiting?: (waitsFor: string) => void;
}

/** What the client needs of `fetch`. Rejects if no complete answer comes before `signal` aborts. */
export type SendRequest = (
  url: URL,
  request: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string | Uint8Array<ArrayBuffer>;
    readonly signal: AbortSignal;
  },
) => Promise<{
  readonly status: number;
  readonly ok: boolean;
  readonly headers?: { get(name: string): string | null };
  text(): Promise<string>;
}>;

const defaultTimeoutMs = 30_000;

type Succeeded<Output> = Output extends { readonly status: 200 | 201 | 202 | 204; readonly body: infer Body }
  ? Body
  : never;

/** One method per route. Resolves with the body of a successful response; rejects with the error code of the server. */
export type Client<Routes extends Readonly<Record<string, Route>>> = {
  readonly [Name in keyof Routes]: (
    ...input: unknown extends RouteInput<Routes[Name]> ? [] : [input: RouteInput<Routes[Name]>]
  ) => Promise<Succeeded<RouteOutput<Routes[Name]>>>;
};

interface Parts {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly upload?: Uint8Array<ArrayBuffer>;
}

export function createClient<const Routes extends Readonly<Record<string, Route>>>(
  routes: Routes,
  options: ClientOptions,
): Client<Routes> {
  const methods = Object.entries(routes).map(([name, route]) => [
    name,
    (input: Parts = {}) => call(route, input, options),
  ]);
  return Object.fromEntries(methods) as Client<Routes>; // has one method per route
}

async function call(route: Route, parts: Parts, options: ClientOptions): Promise<unknown> {
  const { params = {}, query = {}, body, upload } = parts;
  const url = urlOf(route, params, query, options);
  const headers: Record<string, string> = { accept: 'application/json' };
  if (options.apiKey !== undefined) headers['authorization'] = `Bearer ${checkedKey(options.apiKey)}`;
  if (options.isAsync === true) headers['prefer'] = respondAsync;
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (upload !== undefined && route.upload) headers['content-type'] = route.upload.contentType;
  const sent = upload ?? (body === undefined ? undefined : JSON.stringify(body));
  const request = { method: route.method, headers, ...(sent !== undefined && { body: sent }) };
  const response = await send(url, request, options);
  if (response.waitsFor !== undefined) options.onWaiting?.(response.waitsFor);
  if (response.ok) return parseBody(route, url, response);
  throw errorFrom(route, url, response);
}

/** Reads the whole response: a connection that breaks meanwhile counts as unreachable. */
async function send(
  url: URL,
  request: Omit<Parameters<SendRequest>[1], 'signal'>,
  options: ClientOptions,
): Promise<ReceivedResponse> {
  try {
    const signal = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
    const response = await (options.fetch ?? fetch)(url, { ...request, signal });
    const waitsFor = response.headers?.get(waitingForHeader) ?? undefined;
    return { status: response.status, ok: response.ok, text: await response.text(), waitsFor };
  } catch (error) {
    throw serverUnreachable({ url: options.url, reason: reasonOf(error) }, error);
  }
}

interface ReceivedResponse {
  readonly status: number;
  readonly ok: boolean;
  readonly text: string;
  readonly waitsFor: string | undefined;
}

function urlOf(
  route: Route,
  params: NonNullable<Parts['params']>,
  query: NonNullable<Parts['query']>,
  options: ClientOptions,
): URL {
  if (!URL.canParse(options.url))
    throw requestUnsendable({
      part: `the address ${options.url}`,
      problem: 'is not a URL such as http://127.0.0.1:7070',
    });
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathSegment(name, String(params[name] ?? '')));
  const url = new URL(path, options.url);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

/** A URL resolves `.` and `..` as path steps, however they are encoded: such a parameter would reach another route. */
function pathSegment(name: string, value: string): string {
  if (value === '' || value === '.' || value === '..')
    throw requestUnsendable({ part: `parameter ${name}`, problem: 'is empty or consists of dots' });
  if (/\p{Surrogate}/u.test(value))
    throw requestUnsendable({ part: `parameter ${name}`, problem: 'contains an unpaired surrogate' });
  return encodeURIComponent(value);
}

/** Checked here, because an error of `fetch` would quote the key. */
function checkedKey(apiKey: string): string {
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw requestUnsendable({ part: 'the API key', problem: 'contains spaces or other invalid characters' });
  return apiKey;
}

/** Returns the body of a successful response, as the route declares it for that status. */
function parseBody(route: Route, url: URL, { status, text }: ReceivedResponse): unknown {
  const unexpected = (reason: string) => unexpectedAnswer({ method: route.method, url: url.href, status, reason });
  const declared = route.responses[status];
  if (!declared) throw unexpected('the operation does not declare this status');
  if (!declared.schema) return undefined;
  if (declared.contentType !== undefined) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw unexpected(text === '' ? 'the body is empty' : 'the body is not JSON');
  }
}

/** Returns the error that the server reported. Its traits follow from the status, because the server may be newer. */
function errorFrom(route: Route, url: URL, { status, text }: ReceivedResponse): CodedError {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isErrorBody(parsed)) return new CodedError(parsed.error, traitsOf(status), parsed.message, parsed);
  } catch {
    // not JSON, so not a response of Drover
  }
  return unexpectedAnswer({
    method: route.method,
    url: url.href,
    status,
    reason: text.slice(0, 200) || 'the body is empty',
  });
}

/** Other frameworks have `error` and `message` too: only Drover has upper-case codes and a request id. */
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
