import { functionRoutes, type Route } from '@drover/contracts';
import { BoundedMap } from '@drover/service-kit';

/** A matched request line. `subject` is taken from the URL as it is: neither decoded nor validated. */
export interface Match {
  readonly operation: Operation;
  readonly subject: string;
  /** The token in the URL of an attempt. */
  readonly token?: string;
}

export interface Operation {
  readonly name:
    | 'invoke'
    | 'enqueue'
    | 'enqueue-batch'
    | 'open-faas'
    | 'open-faas-async'
    | 'get'
    | 'cancel'
    | 'replay'
    | 'complete';
  readonly route: Route;
}

const { invokeFunction, enqueueFunction, enqueueBatch, callOpenFaas, enqueueOpenFaas } = functionRoutes;
const { getExecution, cancelExecution, replayExecution, completeExecution } = functionRoutes;

const ofFunctions: Readonly<Record<string, Operation>> = {
  invoke: { name: 'invoke', route: invokeFunction },
  enqueue: { name: 'enqueue', route: enqueueFunction },
  'enqueue-batch': { name: 'enqueue-batch', route: enqueueBatch },
};
const ofExecutions: Readonly<Record<string, Operation>> = {
  cancel: { name: 'cancel', route: cancelExecution },
  replay: { name: 'replay', route: replayExecution },
};
const openFaas: Operation = { name: 'open-faas', route: callOpenFaas };
const openFaasAsync: Operation = { name: 'open-faas-async', route: enqueueOpenFaas };
const get: Operation = { name: 'get', route: getExecution };
const complete: Operation = { name: 'complete', route: completeExecution };

/** The routes served here, for the OpenAPI document. */
export const edgeRoutes: readonly Route[] = [
  invokeFunction,
  enqueueFunction,
  enqueueBatch,
  getExecution,
  cancelExecution,
  replayExecution,
  completeExecution,
  callOpenFaas,
  enqueueOpenFaas,
];

const functions = '/v1/functions/';
const executions = '/v1/executions/';
const internal = '/v1/internal/executions/';
/** URLs of attempts contain a token: an unmodified function has no API key to send. */
export const attemptsPrefix = '/v1/internal/attempts/';

/** Returns undefined for URLs that other routes serve. The verb follows the last colon of the last segment. */
function matchEdge(method: string, url: string): Match | undefined {
  if (url.charCodeAt(1) === 0x76 /* v */) {
    const path = pathOf(url);
    if (path.startsWith(functions))
      return method === 'POST' ? withVerb(path.slice(functions.length), ofFunctions) : undefined;
    if (path.startsWith(executions)) return matchExecution(method, path.slice(executions.length));
    if (method === 'POST' && path.startsWith(internal)) return withVerb(path.slice(internal.length), { complete });
    if (method === 'POST' && path.startsWith(attemptsPrefix)) return matchAttempt(path.slice(attemptsPrefix.length));
    return undefined;
  }
  if (url.startsWith('/function/')) return segment(openFaas, pathOf(url).slice('/function/'.length));
  if (method === 'POST' && url.startsWith('/async-function/'))
    return segment(openFaasAsync, pathOf(url).slice('/async-function/'.length));
  return undefined;
}

/** Caches matches of function URLs, since few of them receive most requests. */
export class EdgeMatcher {
  readonly #known = new BoundedMap<string, Match>({ maxWeight: maxKnown, whenFull: 'evict-unused' });

  match(method: string, url: string): Match | undefined {
    const known = method === 'POST' ? this.#known.get(url) : undefined;
    if (known) return known;
    const match = matchEdge(method, url);
    if (match && url.length <= longestKnown && ofFunctions[match.operation.name]) this.#known.set(url, match);
    return match;
  }
}

const maxKnown = 1_000;
const longestKnown = 128;

function matchExecution(method: string, rest: string): Match | undefined {
  if (method === 'POST') return withVerb(rest, ofExecutions);
  return method === 'GET' && !rest.includes(':') ? segment(get, rest) : undefined;
}

function matchAttempt(rest: string): Match | undefined {
  const slash = rest.indexOf('/');
  const match = slash < 0 ? undefined : withVerb(rest.slice(slash + 1), { complete });
  return match && { ...match, token: rest.slice(0, slash) };
}

function withVerb(segments: string, verbs: Readonly<Record<string, Operation>>): Match | undefined {
  const colon = segments.lastIndexOf(':');
  if (colon < 0) return undefined;
  const verb = segments.slice(colon + 1);
  const operation = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  return operation && segment(operation, segments.slice(0, colon));
}

function segment(operation: Operation, subject: string): Match | undefined {
  return subject === '' || subject.includes('/') ? undefined : { operation, subject };
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}
