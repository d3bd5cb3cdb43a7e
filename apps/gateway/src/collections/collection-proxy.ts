import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  collectionUnknown,
  toErrorDocument,
  type Authentication,
  type Authenticator,
  type Caller,
} from '@drover/collection-engine';
import { bearsApiKey, defaultTenantId, holdsScope, recordsPathName, type CodedError } from '@drover/contracts';
import {
  isPreflight,
  preflightHeaders,
  type ErrorAnswer,
  type FastLaneExchange,
  type FastLaneRequest,
} from '@drover/http-edge';
import { nearestName, type Lifecycle } from '@drover/service-kit';
import type { UnservedAnswer } from '../proxy/unserved-path.js';
import type { CollectionNames, RecordsTarget } from './collection-names.js';
import { CollectionWorkers, type CollectionWorkersOptions } from './collection-workers.js';

/** Serves a request, in either of its two forms. Returns false if it is not for this server. `unserved` answers if no function has it. */
export interface RequestProxy {
  readonly serve: (request: IncomingMessage, response: ServerResponse, unserved?: UnservedAnswer) => boolean;
  readonly serveFastLane: (request: FastLaneRequest, exchange: FastLaneExchange, unserved?: UnservedAnswer) => boolean;
}

export interface CollectionProxyOptions extends Omit<CollectionWorkersOptions, 'toAnswer'> {
  readonly names: Pick<CollectionNames, 'isEmpty' | 'targetsOf' | 'namesOf' | 'lookUp'>;
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'authenticateCached'>;
  /** Gets every other request. */
  readonly functions: RequestProxy;
}

type Target = RecordsTarget | FunctionTarget;
/** A function, unless none has the path. */
type FunctionTarget = { readonly unserved: UnservedAnswer | undefined };
const plainFunction: FunctionTarget = { unserved: undefined };
/** A request with a key that is not valid, or cannot be checked now: any worker can refuse it. */
const ofNoTenant: RecordsTarget = { tenantId: '', collectionId: undefined };

/**
 * Proxies `/api/{collection}` to a collection worker if the tenant of the caller has that collection, and everything else as before.
 * A request without an API key belongs to the default tenant; the collection worker asks it for a key. The worker checks the key again:
 * here it only decides the way. A caller with a key for records whose path is neither a collection's nor a function's is told so in
 * the shape of the records API, with the name of a similar collection.
 */
export class CollectionProxy implements Lifecycle, RequestProxy {
  readonly name = 'collection proxy';
  readonly #options: CollectionProxyOptions;
  readonly #workers: CollectionWorkers;

  constructor(options: CollectionProxyOptions) {
    this.#options = options;
    this.#workers = new CollectionWorkers({ ...options, toAnswer: toRecordAnswer });
  }

  /** Requests that wait for a worker. */
  get held(): number {
    return this.#workers.held;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {
    this.#workers.drain();
  }

  stop(): Promise<void> {
    return this.#workers.stop();
  }

  readonly serve = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { functions } = this.#options;
    const { url = '', headers } = request;
    const preflight = this.#preflightAnswer(request.method, url, headers);
    if (preflight) {
      response.writeHead(204, preflight).end();
      request.resume();
      return true;
    }
    return this.#route(url, headers.authorization, {
      toFunction: ({ unserved }) => functions.serve(request, response, unserved),
      toCollection: (target) => this.#workers.forward(request, response, target),
    });
  };

  readonly serveFastLane = (request: FastLaneRequest, exchange: FastLaneExchange): boolean => {
    const { functions } = this.#options;
    const preflight = this.#preflightAnswer(request.method, request.url, request.headers);
    if (preflight) {
      exchange.answer(204, preflight, undefined);
      return true;
    }
    return this.#route(request.url, request.headers['authorization'], {
      toFunction: ({ unserved }) => functions.serveFastLane(request, exchange, unserved),
      toCollection: (target) => this.#workers.forwardFastLane(request, exchange, target),
    });
  };

  #route(
    url: string,
    authorization: string | undefined,
    to: {
      readonly toFunction: (target: FunctionTarget) => boolean;
      readonly toCollection: (target: RecordsTarget) => void;
    },
  ): boolean {
    const target = this.#targetOf(url, authorization);
    if (target instanceof Promise)
      void target.then((found) => ('unserved' in found ? to.toFunction(found) : to.toCollection(found)));
    else if ('unserved' in target) return to.toFunction(target);
    else to.toCollection(target);
    return true;
  }

  /**
   * Returns the headers of the answer to a preflight for a path of records; undefined for every other request. Browsers send it without
   * a key, so it is about the collections of all tenants; one for a path of a function is answered by the runtime.
   */
  #preflightAnswer(method: string | undefined, url: string, headers: IncomingMessage['headers']): string[] | undefined {
    const { cors, names } = this.#options;
    if (!cors || method !== 'OPTIONS' || !isPreflight(method, headers)) return undefined;
    const name = recordsPathName(url);
    return name !== undefined && names.targetsOf(name) ? [...preflightHeaders(cors, headers)] : undefined;
  }

  /** Calls of functions cost a look at one header, and at the path once a collection exists. */
  #targetOf(url: string, authorization: string | undefined): Target | Promise<Target> {
    const { names } = this.#options;
    const hasKey = bearsApiKey(authorization);
    if (names.isEmpty && !hasKey) return plainFunction;
    const name = recordsPathName(url);
    if (name === undefined) return plainFunction;
    const targets = names.targetsOf(name);
    if (hasKey) return this.#targetOfKey(name, authorization ?? '', targets);
    return targets?.get(defaultTenantId) ?? plainFunction;
  }

  #targetOfKey(
    name: string,
    authorization: string,
    targets: ReadonlyMap<string, RecordsTarget> | undefined,
  ): Target | Promise<Target> {
    const { authenticator, names } = this.#options;
    const decide = (authentication: Authentication): Target | Promise<Target> => {
      if ('refused' in authentication) return targets ? ofNoTenant : plainFunction;
      const { caller } = authentication;
      const known = targets?.get(caller.tenantId);
      if (known) return known;
      return names
        .lookUp(caller.tenantId, name)
        .then((found) => found ?? { unserved: this.#unknownCollection(name, caller) });
    };
    const cached = authenticator.authenticateCached(authorization);
    const target = cached ? decide(cached) : authenticator.authenticate(authorization).then(decide);
    return target instanceof Promise ? target.catch(() => whileDatabaseIsAway(targets)) : target;
  }

  /** Only for keys that read or write records: others cannot have meant a collection. */
  #unknownCollection(name: string, { tenantId, scopes }: Caller): UnservedAnswer | undefined {
    const isReadable = (collection?: string): boolean =>
      holdsScope(scopes, 'records:read', collection) || holdsScope(scopes, 'records:write', collection);
    if (!isReadable()) return undefined;
    return (requestId) => {
      const similar = nearestName(name, this.#options.names.namesOf(tenantId).filter(isReadable));
      return toRecordAnswer(collectionUnknown({ collection: name, similar }), requestId);
    };
  }
}

/**
 * Functions are served without PostgreSQL, so they get a path that no collection is known to have. That of a collection goes to its
 * worker, which refuses it for now: the 404 of a function would say that the record does not exist.
 */
function whileDatabaseIsAway(targets: ReadonlyMap<string, RecordsTarget> | undefined): Target {
  if (!targets) return plainFunction;
  const [first] = targets.values();
  return first && targets.size === 1 ? first : ofNoTenant;
}

/** In the shape that the collection worker's errors have. */
function toRecordAnswer(error: CodedError, requestId: string): ErrorAnswer {
  const { status, errors } = toErrorDocument(error, requestId);
  const headers = ['content-type', 'application/vnd.api+json', 'x-request-id', requestId, 'cache-control', 'no-store'];
  if (error.retryable) headers.push('retry-after', '1');
  return { status, headers, body: JSON.stringify({ errors }) };
}
