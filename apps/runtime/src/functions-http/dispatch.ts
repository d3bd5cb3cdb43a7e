import { runtimeCalls } from '@drover/contracts';
import { corsHeaders, isPreflight, preflightHeaders } from '@drover/http-edge';
import type { Randomness } from '@drover/service-kit';
import { adminPath, serveAdmin } from '../admin/admin-api.js';
import { serveAdminKeys } from '../admin/admin-keys.js';
import { isAboutApplications, serveApplications } from '../calls/serve-applications.js';
import { hostOf, isGoodHost, schemeOf } from '../exchanges/caller-address.js';
import {
  applicationNotFound,
  applicationNotServed,
  functionKeyRequired,
  functionNotFound,
  requestAddressTooLong,
  requestHeadTooLarge,
  requestsThrottled,
  requestUnreadable,
  serverDraining,
} from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import { isAuthorized } from '../routes/function-keys.js';
import { serveHealth, type HealthSource } from './health.js';
import { serveIndex, type IndexSource } from '../indexing/serve-index.js';
import type { HttpApplication, HttpApplications } from '../routes/http-application.js';
import type { FunctionsPortLimits } from './http-limits.js';
import type { HttpObserve } from '../exchanges/http-observations.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import { parseQuery, pathSegments, splitTarget } from '../routes/request-target.js';
import type { RouteMatch, RouteTable } from '../routes/route-table.js';
import type { ServeOptions } from '../exchanges/serve-options.js';
import { serveFunction } from './serve-function.js';
import { serveWebhook, webhookName } from './serve-webhook.js';
import { writeAnswer } from '../exchanges/write-answer.js';

export interface DispatchOptions {
  readonly applications: HttpApplications;
  readonly health: HealthSource | undefined;
  /** Undefined: this port indexes no applications. */
  readonly indexing?: IndexSource | undefined;
  readonly limits: FunctionsPortLimits;
  readonly trustsForwarded: boolean;
  readonly serving: ServeOptions;
  readonly randomness: Randomness;
  readonly observe: HttpObserve;
  readonly isClosing: () => boolean;
}

/** Routes a request to the component that serves it, after the key check. Throws Refused if none does. */
export async function dispatch(exchange: Exchange, options: DispatchOptions): Promise<void> {
  checkHead(exchange, options.limits);
  const { applications, health } = options;
  const { path } = exchange.target;
  const isProbe = exchange.method === 'GET' || exchange.method === 'HEAD';
  if (health && isProbe && !isLeftToFunctions(exchange, applications) && serveHealth(exchange, path, health)) {
    exchange.functionName = 'health';
    return;
  }
  if (options.isClosing()) throw new Refused(serverDraining({}));
  const unknown = applications.untilKnown?.();
  if (unknown && path !== runtimeCalls.keysPath && path !== runtimeCalls.indexesPath) await unknown;
  if (isAboutApplications(path))
    return serveApplications({ exchange, applications, key: keyOf(exchange), serving: options.serving });
  if (path === runtimeCalls.keysPath && exchange.method === 'GET')
    return serveAdminKeys(exchange, applications.all(), keyOf(exchange));
  if (path === runtimeCalls.indexesPath && exchange.method === 'POST' && options.indexing)
    return serveIndex(exchange, options.indexing, { key: keyOf(exchange), bodies: options.serving.bodies });
  const webhook = webhookName(path);
  if (webhook !== undefined) return dispatchWebhook(exchange, webhook, options);
  const application = applications.resolve(exchange.request);
  if (!application) throw notServed(applications);
  exchange.application = application.name;
  const admin = adminPath(path);
  if (!admin) return dispatchFunction(exchange, application, path, options);
  const { observe, trustsForwarded } = options;
  const { headers } = exchange.request;
  exchange.functionName = 'admin';
  return serveAdmin({
    exchange,
    application,
    applications: applications.all(),
    path: admin,
    key: keyOf(exchange),
    bodies: options.serving.bodies,
    baseUrl: `${schemeOf(headers, trustsForwarded)}://${hostOf(headers, trustsForwarded)}`,
    observe,
  });
}

function dispatchWebhook(
  exchange: Exchange,
  name: string,
  { applications, serving, observe }: DispatchOptions,
): Promise<void> {
  const { bodies } = serving;
  return serveWebhook({ exchange, applications: applications.all(), name, key: keyOf(exchange), bodies, observe });
}

/**
 * Whether `/health` is not the document of this process: functions without a route prefix often have that route, and through the
 * gateway it is theirs alone.
 */
function isLeftToFunctions({ method, request, target: { path } }: Exchange, applications: HttpApplications): boolean {
  if (path !== '/health') return false;
  if (request.headers['x-forwarded-for'] !== undefined) return true;
  return applications.resolve(request)?.routes.match(method, healthSegments) !== undefined;
}

const healthSegments = { segments: ['health'], folded: ['health'] };

/** Checks that Node's parser does not make. */
function checkHead(exchange: Exchange, { addressBytes, headers: most, headerBytes }: FunctionsPortLimits): void {
  const { url = '', rawHeaders, headers, httpVersion } = exchange.request;
  if (url.length > addressBytes) throw new Refused(requestAddressTooLong({ limitBytes: addressBytes }));
  if (rawHeaders.length / 2 > most) throw new Refused(requestHeadTooLarge({ limitBytes: headerBytes }));
  if (headers.host === undefined ? httpVersion === '1.1' : !isGoodHost(headers.host))
    throw new Refused(
      requestUnreadable({ problem: 'the Host header is missing or invalid. Send exactly one Host header.' }),
    );
  const target = splitTarget(url);
  if (!target)
    throw new Refused(
      requestUnreadable({ problem: 'the request target is not a path. Send a path that starts with a slash.' }),
    );
  exchange.target = target;
}

async function dispatchFunction(
  exchange: Exchange,
  application: HttpApplication,
  path: string,
  options: DispatchOptions,
): Promise<void> {
  const { method, request } = exchange;
  const { cors, routes, gate, customHeaders } = application;
  exchange.extraHeaders = extraHeaders(exchange, application, options.trustsForwarded);
  if (cors && isPreflight(method, request.headers)) {
    exchange.extraHeaders = [...customHeaders, ...preflightHeaders(cors, request.headers)];
    return writeAnswer(exchange, { status: 204, headers: [], body: undefined });
  }
  const match = routes.recall(method, path) ?? findRoute(exchange, routes, path);
  if (!match || !isThere(exchange, application, match)) throw notFound(exchange);
  const { name } = match.route.definition;
  exchange.functionName = name;
  if (!mayCall(exchange, application, match)) {
    options.observe({ kind: 'http.refused', application: application.name, function: name, reason: 'key' });
    throw new Refused(functionKeyRequired({}));
  }
  const entered = gate.enter(exchange.signal);
  if (!(typeof entered === 'boolean' ? entered : await entered)) {
    if (exchange.signal.aborted) return;
    options.observe({ kind: 'http.refused', application: application.name, function: name, reason: 'throttled' });
    throw new Refused(requestsThrottled({ limit: gate.limit }));
  }
  try {
    await serveFunction(exchange, application, match, options.serving);
  } finally {
    gate.leave();
  }
}

function findRoute({ method }: Exchange, routes: RouteTable, path: string): RouteMatch | undefined {
  const segments = pathSegments(path);
  if (!segments)
    throw new Refused(requestUnreadable({ problem: 'the path has dot segments or control characters. Remove them.' }));
  const match = routes.match(method, segments);
  if (match) routes.remember(method, path, match);
  return match;
}

/** A disabled function exists only for requests with the master key. */
function isThere(exchange: Exchange, { keys }: HttpApplication, { route }: RouteMatch): boolean {
  if (!route.definition.isDisabled) return true;
  const key = keyOf(exchange);
  return key !== undefined && keys.present(key).isMaster;
}

function mayCall(exchange: Exchange, { keys, requiresKeys }: HttpApplication, { route }: RouteMatch): boolean {
  if (!requiresKeys || route.authLevel === 'anonymous') return true;
  const key = keyOf(exchange);
  return isAuthorized(route.authLevel, route.definition.name, key === undefined ? undefined : keys.present(key));
}

/** Returns the key of a request. The header takes precedence over the query. */
function keyOf({ request, target }: Exchange): string | undefined {
  const header = request.headers[runtimeCalls.keyHeader];
  if (typeof header === 'string' && header !== '') return header;
  return (target.query.includes('code') && parseQuery(target.query)['code']) || undefined;
}

/** Returns the headers that every answer of an application has. */
function extraHeaders(
  { request: { headers } }: Exchange,
  { cors, hsts, customHeaders }: HttpApplication,
  trustsForwarded: boolean,
): readonly string[] {
  if (!cors && !hsts) return customHeaders;
  const host = hostOf(headers, trustsForwarded).replace(/:\d+$/, '').toLowerCase();
  const isStrict = hsts && schemeOf(headers, trustsForwarded) === 'https' && !hsts.excludedHosts.has(host);
  const strict = isStrict ? ['strict-transport-security', hsts.value] : [];
  return [...customHeaders, ...corsHeaders(cors, headers.origin), ...strict];
}

/** Without any application, the caller gets the reason: no other place may be open to the author of the app. */
function notServed(applications: HttpApplications): Refused {
  const problems = applications.problems().map(({ application, problem }) => `${application}: ${problem}`);
  return new Refused(problems.length === 0 ? applicationNotFound({}) : applicationNotServed({ problems }));
}

function notFound({ method, target }: Exchange): Refused {
  return new Refused(functionNotFound({ method, path: target.path.slice(0, 200) }));
}
