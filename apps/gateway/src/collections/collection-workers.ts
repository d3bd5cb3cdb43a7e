import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CodedError } from '@drover/contracts';
import {
  bodyTooLarge,
  hasBody,
  readShortBody,
  requestIdOf,
  corsHeaders,
  type CorsPolicy,
  type ErrorAnswer,
  type FastLaneExchange,
  type FastLaneRequest,
} from '@drover/http-edge';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { collectionWorkerAbsent, collectionWorkerBroke, collectionWorkerUnreachable } from '../errors.js';
import type { CollectionFrontObservation } from '../observations.js';
import { RetryBudget } from '../picking/retry-budget.js';
import { HeldRequests } from '../proxy/held-requests.js';
import { Upstream } from '../proxy/upstream.js';
import type { CollectionRoutes, RoutedCollection } from '../routes/collection-routes.js';
import { CollectionCall, type CallSurroundings } from './collection-call.js';
import type { RecordsTarget } from './collection-names.js';
import {
  FastLaneRecordsRequest,
  recordsChanges,
  StreamedRecordsRequest,
  type RecordsRequest,
} from './records-request.js';

export interface CollectionWorkersOptions {
  /** A worker that does not register: its HTTP address, or the file that will hold it. It serves while no worker has registered. */
  readonly collectionWorkerUrl: string | undefined;
  readonly collectionWorkerUrlFile: string | undefined;
  readonly routes: Pick<
    CollectionRoutes,
    'find' | 'findForTenant' | 'findOwn' | 'refresh' | 'catchUp' | 'hasWorkers' | 'onChange'
  >;
  /** How long a request waits while no worker accepts it, and how many may. */
  readonly holdMs: number;
  readonly maxHeldRequests: number;
  /** Longest body of a request for records, imports aside. */
  readonly recordsBodyBytes: number;
  /** Which pages of other origins may read answers; undefined: none. */
  readonly cors: CorsPolicy | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionFrontObservation>;
  /** Writes an error in the shape that the errors of the worker have. */
  readonly toAnswer: (error: CodedError, requestId: string) => ErrorAnswer;
}

/** Bodies up to this size are read before they are sent on, so that they can be sent to another worker. As on the fast lane. */
const heldBytes = 65_536;

/** Sends requests for records to the workers that serve their collections, and lets them wait while there are none. */
export class CollectionWorkers implements CallSurroundings {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionFrontObservation>;
  readonly budget = new RetryBudget();
  readonly #options: CollectionWorkersOptions;
  readonly #held: HeldRequests;
  readonly #configured: Upstream;
  readonly #hasConfigured: boolean;

  constructor(options: CollectionWorkersOptions) {
    this.#options = options;
    const { clock, randomness, routes, collectionWorkerUrl: url, collectionWorkerUrlFile: urlFile } = options;
    this.clock = clock;
    this.randomness = randomness;
    this.observe = options.observe;
    this.#held = new HeldRequests({ maxRequests: options.maxHeldRequests, clock, probe: (key) => this.#probe(key) });
    this.#hasConfigured = url !== undefined || urlFile !== undefined;
    this.#configured = new Upstream({
      ...options,
      url,
      urlFile,
      changes: recordsChanges,
      errors: {
        absent: () => collectionWorkerAbsent({}),
        unreachable: (reason) => collectionWorkerUnreachable({ reason }),
        brokeOff: (reason) => collectionWorkerBroke({ reason }),
      },
    });
    routes.onChange = (collectionId) => this.#held.wake(collectionId);
  }

  /** Requests that wait for a worker. */
  get held(): number {
    return this.#held.count;
  }

  /** Answers the requests that wait: their clients find another gateway. */
  drain(): void {
    this.#held.close();
    this.#configured.drain();
  }

  async stop(): Promise<void> {
    this.drain();
    await this.#configured.stop();
  }

  forward(request: IncomingMessage, response: ServerResponse, target: RecordsTarget): void {
    const { recordsBodyBytes, cors } = this.#options;
    const extraHeaders = corsHeaders(cors, request.headers.origin);
    const begin = (body?: Buffer): void =>
      this.#begin(new StreamedRecordsRequest(request, response, { recordsBodyBytes, extraHeaders, body }), target);
    const reading = hasBody(request)
      ? readShortBody(request, request.headers['content-length'], Math.min(heldBytes, recordsBodyBytes))
      : undefined;
    if (!reading) return begin();
    // A client that left before it had sent its body gets no answer.
    reading.then(begin, () => response.destroy());
  }

  forwardFastLane(request: FastLaneRequest, exchange: FastLaneExchange, target: RecordsTarget): void {
    const { recordsBodyBytes, cors } = this.#options;
    const extraHeaders = corsHeaders(cors, request.headers['origin']);
    this.#begin(new FastLaneRecordsRequest(request, exchange, { recordsBodyBytes, extraHeaders }), target);
  }

  readonly routeOf = ({ tenantId, collectionId }: RecordsTarget): RoutedCollection | undefined => {
    const { routes } = this.#options;
    return collectionId === undefined ? routes.findForTenant(tenantId) : routes.find(collectionId);
  };

  readonly ofTenant = (tenantId: string): RoutedCollection['endpoints'] =>
    this.#options.routes.findOwn(tenantId).endpoints;

  readonly refresh = async ({ collectionId }: RecordsTarget): Promise<void> => {
    if (collectionId !== undefined) await this.#options.routes.refresh(collectionId);
  };

  hold(call: CollectionCall, why: string): void {
    const { request, target } = call;
    const { sink } = request;
    if (this.#usesConfigured) return request.forwardTo(this.#configured);
    const giveUp = (): void => {
      sink.onLeft = undefined;
      this.refuse(request, this.#unreachable(why));
    };
    const cancel = this.#held.hold({
      key: keyOf(target),
      untilMs: (call.heldUntilMs ??= this.clock.monotonicMs() + this.#options.holdMs),
      resume: () => {
        sink.onLeft = undefined;
        call.resume();
      },
      giveUp,
    });
    if (!cancel) return giveUp();
    sink.onLeft = cancel;
    this.observe({ kind: 'gateway.held' });
  }

  refuse(request: RecordsRequest, error: CodedError): void {
    if (request.sink.isOver) return;
    const { code, message: reason, fault, retryable } = error;
    const requestId = requestIdOf(request.headers, this.randomness);
    const isLasting = fault === 'platform' && !retryable;
    this.observe({ kind: 'gateway.refused', requestId, code, reason, isLasting });
    request.answer(this.#options.toAnswer(error, requestId));
  }

  refuseTooLong(request: RecordsRequest): void {
    const variable = 'DROVER_RECORDS_BODY_LIMIT_BYTES'; // as the worker says it
    this.refuse(request, bodyTooLarge({ limitBytes: request.maxBodyBytes, variable }));
  }

  #begin(request: RecordsRequest, target: RecordsTarget): void {
    if (request.isTooLong) this.refuseTooLong(request);
    else if (this.#usesConfigured) request.forwardTo(this.#configured);
    else new CollectionCall(request, target, this).begin();
  }

  /** A configured worker serves everything until one has registered. */
  get #usesConfigured(): boolean {
    return this.#hasConfigured && !this.#options.routes.hasWorkers;
  }

  #unreachable(reason: string): CodedError {
    const { hasWorkers } = this.#options.routes;
    return hasWorkers ? collectionWorkerUnreachable({ reason }) : collectionWorkerAbsent({});
  }

  async #probe(key: string): Promise<boolean> {
    if (this.#usesConfigured) return true;
    const endpoints = this.#endpointsOf(key);
    if (endpoints.length === 0) {
      await this.#options.routes.catchUp();
      return this.#endpointsOf(key).length > 0;
    }
    const attempts = endpoints.map(async (endpoint) => {
      if (!(await endpoint.acceptsConnections())) throw new Error('It does not accept connections.');
    });
    return Promise.any(attempts).then(
      () => true,
      () => false,
    );
  }

  #endpointsOf(key: string): RoutedCollection['endpoints'] {
    const isTenant = key.startsWith(tenantPrefix);
    const target = isTenant
      ? { tenantId: key.slice(tenantPrefix.length), collectionId: undefined }
      : { tenantId: '', collectionId: key };
    return this.routeOf(target)?.endpoints ?? [];
  }
}

/** Ids of collections are UUIDs. */
const tenantPrefix = 'tenant ';

function keyOf({ tenantId, collectionId }: RecordsTarget): string {
  return collectionId ?? `${tenantPrefix}${tenantId}`;
}
