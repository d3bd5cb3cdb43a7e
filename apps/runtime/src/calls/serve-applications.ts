import { hash } from 'node:crypto';
import {
  readRuntimeCallPath,
  readRuntimeStatePath,
  runtimeCalls,
  type RuntimeListing,
  type RuntimeServedState,
} from '@drover/contracts';
import { deadlineAfter } from '@drover/service-kit';
import { shownTriggerType } from '../applications/trigger-types.js';
import { mayAdminister } from '../admin/admin-access.js';
import { applicationNotFound, functionKeyRequired, functionNotFound } from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import type { HttpApplication, HttpApplications } from '../routes/http-application.js';
import { parseQuery } from '../routes/request-target.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import type { ServeOptions } from '../exchanges/serve-options.js';
import { writeAnswer } from '../exchanges/write-answer.js';
import { serveCall } from './serve-call.js';

const { applicationsPath: prefix } = runtimeCalls;
/** Of a request for the state of an application. */
const longestWaitMs = 60_000;

export interface ApplicationsCall {
  readonly exchange: Exchange;
  readonly applications: HttpApplications;
  readonly key: string | undefined;
  readonly serving: ServeOptions;
}

/** Whether a path belongs to the API of the control plane. */
export function isAboutApplications(path: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path.charCodeAt(prefix.length) === 47);
}

/**
 * Serves the control plane, which presents the master key: lists the functions of all applications, waits until one is served as it was
 * deployed, and runs a function and returns its result. `runtimeCalls` has the paths.
 */
export async function serveApplications(call: ApplicationsCall): Promise<void> {
  const { exchange, applications } = call;
  const { path } = exchange.target;
  if (path.length === prefix.length && exchange.method === 'GET') return list(call);
  const awaited = exchange.method === 'GET' ? readRuntimeStatePath(path) : undefined;
  if (awaited !== undefined) return await awaitState(call, awaited);
  const named = exchange.method === 'POST' ? readRuntimeCallPath(path) : undefined;
  if (!named) throw notFound(exchange);
  const application = applications.named(named.application, named.functionName);
  // Without a key, a missing application must look like one that exists.
  if (application ? !mayAdminister(application, exchange.request, call.key) : open(call) === undefined)
    throw new Refused(functionKeyRequired({}));
  if (!application) throw new Refused(applicationNotFound({}));
  exchange.application = application.name;
  const callable = application.callable.get(named.functionName.toLowerCase());
  if (!callable || callable.definition.isDisabled) throw notFound(exchange);
  exchange.functionName = callable.definition.name;
  return serveCall(exchange, application, callable, call.serving);
}

/** Lists names, applications and triggers with an ETag, so that an unchanged list costs little. */
function list(call: ApplicationsCall): void {
  const { exchange } = call;
  const applications = open(call);
  if (!applications) throw new Refused(functionKeyRequired({}));
  exchange.functionName = 'admin';
  const listing: RuntimeListing = {
    applications: applications.map(({ name, callable }) => ({
      name,
      functions: [...callable.values()].map(({ definition }) => ({
        name: definition.name,
        trigger: shownTriggerType(definition.trigger.type),
        isDisabled: definition.isDisabled,
      })),
    })),
    problems: call.applications.problems(),
  };
  const body = JSON.stringify(listing);
  const tag = `"${hash('sha256', body, 'hex').slice(0, 32)}"`;
  const headers = ['etag', tag, 'cache-control', 'no-cache'];
  if (exchange.request.headers['if-none-match'] === tag)
    return writeAnswer(exchange, { status: 304, headers, body: undefined });
  writeAnswer(exchange, { status: 200, headers: ['content-type', 'application/json', ...headers], body });
}

/** Answers when the application is served in the generation that the query names, or after the time that it gives. */
async function awaitState(call: ApplicationsCall, name: string): Promise<void> {
  const { exchange, applications } = call;
  if (!open(call)) throw new Refused(functionKeyRequired({}));
  exchange.functionName = 'admin';
  const { generation, removed, waitMs } = parseQuery(exchange.target.query);
  const atMostMs = Math.min(Math.max(0, Number(waitMs) || 0), longestWaitMs);
  const deadline = deadlineAfter(call.serving.clock, atMostMs, exchange.signal);
  const state = { name, generation: Number(generation) || 0, removed: removed === 'true' };
  const waitsFor = await applications.untilServed?.(state, deadline.signal);
  deadline.cancel();
  const answer: RuntimeServedState = waitsFor === undefined ? {} : { waitsFor };
  const headers = ['content-type', 'application/json', 'cache-control', 'no-store'];
  writeAnswer(exchange, { status: 200, headers, body: JSON.stringify(answer) });
}

/** Returns the applications that the key may administer; undefined if there are applications, but none for this key. */
function open(call: ApplicationsCall): readonly HttpApplication[] | undefined {
  const all = call.applications.all();
  const own = all.filter((application) => mayAdminister(application, call.exchange.request, call.key));
  return own.length === 0 && all.length > 0 ? undefined : own;
}

function notFound({ method, target }: Exchange): Refused {
  return new Refused(functionNotFound({ method, path: target.path.slice(0, 200) }));
}
