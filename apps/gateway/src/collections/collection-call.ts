import type { CodedError } from '@drover/contracts';
import { ProxiedRequest, type AnswerBegin, type MissKind } from '@drover/http-edge';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { CollectionEndpoint, CarriedCall } from '../endpoints/collection-endpoint.js';
import {
  collectionWorkerBroke,
  collectionWorkersBusy,
  collectionWorkerTimedOut,
  collectionWorkerUnreachable,
} from '../errors.js';
import type { CollectionFrontObservation, RetryReason } from '../observations.js';
import type { RequestOutcome } from '../picking/endpoint.js';
import { pickEndpoint } from '../picking/pick-endpoint.js';
import type { RetryBudget } from '../picking/retry-budget.js';
import type { RoutedCollection } from '../routes/collection-routes.js';
import type { RecordsTarget } from './collection-names.js';
import type { RecordsRequest } from './records-request.js';

/** What a call needs of the gateway around it. */
export interface CallSurroundings {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly budget: RetryBudget;
  readonly observe: Observe<CollectionFrontObservation>;
  readonly routeOf: (target: RecordsTarget) => RoutedCollection | undefined;
  /** The workers that serve collections of a tenant. */
  readonly ofTenant: (tenantId: string) => readonly CollectionEndpoint[];
  /** Reads the route again, because a worker has refused the request. */
  readonly refresh: (target: RecordsTarget) => Promise<void>;
  /** Lets the call wait for a worker; it calls `resume` or refuses. */
  hold(call: CollectionCall, why: string): void;
  refuse(request: RecordsRequest, error: CodedError): void;
  /** Answers a request whose body is longer than it may be. */
  refuseTooLong(request: RecordsRequest): void;
}

/** After as many workers that refused it, a request is served by any of them: all of them can. */
const maxRefusals = 3;

/**
 * One request for records on its way to one of the workers of its collection.
 *
 * - no worker has seen it (`unsent`), or the whole of it (`unread`): it goes to another one, and waits if none accepts connections
 * - a worker does not hold the collection (421): the route is read again, and the request goes to another worker
 * - the connection broke off: it goes to another worker once, if a repetition changes nothing and the budget allows; otherwise the
 *   client is told that its effect is not known
 * - a worker answers a read with 500, 502, 503 or 504 while another one is healthy: it goes there once, if the budget allows
 * - the answer has begun: a broken answer breaks the client's connection
 */
export class CollectionCall implements CarriedCall {
  readonly request: RecordsRequest;
  readonly target: RecordsTarget;
  readonly #around: CallSurroundings;
  #proxied: ProxiedRequest | undefined;
  #endpoint: CollectionEndpoint | undefined;
  #tried: CollectionEndpoint[] | undefined;
  #sinceMs = 0;
  #sentMs = 0;
  #latencyMs = 0;
  #status = 0;
  #refusals = 0;
  #servesAnyway = false;
  #isRepeated = false;
  /** Until when it may wait; undefined if it has not waited. */
  heldUntilMs: number | undefined;

  constructor(request: RecordsRequest, target: RecordsTarget, around: CallSurroundings) {
    this.request = request;
    this.target = target;
    this.#around = around;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  get hasBegun(): boolean {
    return this.#proxied?.hasBegun === true;
  }

  begin(): void {
    this.#around.budget.earn();
    this.#attempt();
  }

  /** Goes on after it has waited: workers that were away are tried again. */
  resume(): void {
    this.#tried = undefined;
    this.#servesAnyway = false;
    this.#attempt();
  }

  leaveHung(): void {
    if (this.#isRepeated || !this.request.isRepeatable) return;
    this.#proxied?.miss(new Error('it does not answer'));
  }

  /** A body that still arrives keeps the call alive: the port of the gateway limits how long that may take. */
  timeOut(): void {
    if (!this.request.isWhole || this.hasBegun) return;
    this.#proxied?.abort();
    this.#leaveEndpoint('gateway-error');
    this.#refuse(collectionWorkerTimedOut({ afterMs: Math.round(this.#around.clock.monotonicMs() - this.#sinceMs) }));
  }

  #attempt(): void {
    const { routeOf, clock, randomness } = this.#around;
    if (this.request.sink.isOver) return;
    const route = routeOf(this.target);
    if (!route || route.endpoints.length === 0) return this.#hold('no worker serves the collection yet');
    const nowMs = clock.monotonicMs();
    const pick = pickEndpoint(route.endpoints, { nowMs, randomness, tried: this.#tried });
    if ('endpoint' in pick) this.#send(pick.endpoint, route.generation, nowMs);
    else if (pick.refused === 'full') this.#refuse(collectionWorkersBusy({ workers: route.endpoints.length }));
    else this.#sendToSpare(nowMs);
  }

  /**
   * None of the workers of the collection can take the request. Another worker of the same tenant can: all data is in PostgreSQL.
   * Never one that serves other tenants only, which may be kept apart for them.
   */
  #sendToSpare(nowMs: number): void {
    const { tenantId, collectionId } = this.target;
    const { routeOf, randomness } = this.#around;
    const tried = [...(this.#tried ?? []), ...(routeOf(this.target)?.endpoints ?? [])];
    const spares = collectionId === undefined ? [] : this.#around.ofTenant(tenantId);
    const pick = pickEndpoint(spares, { nowMs, randomness, tried });
    if (!('endpoint' in pick)) return this.#hold('none of its workers accepts requests');
    this.#servesAnyway = true;
    this.#around.observe({ kind: 'gateway.retried', reason: 'spare', workerId: pick.endpoint.id });
    this.#send(pick.endpoint, routeOf(this.target)?.generation ?? 0, nowMs);
  }

  #send(endpoint: CollectionEndpoint, generation: number, nowMs: number, isOnNewConnection = false): void {
    this.#endpoint = endpoint;
    this.#sentMs = nowMs;
    if (this.#sinceMs === 0) this.#sinceMs = nowMs;
    this.#status = 0;
    endpoint.carry(this, nowMs);
    this.#proxied = new ProxiedRequest({
      pool: endpoint.pool,
      request: this.request.toForwarded({ generation, servesAnyway: this.#servesAnyway }),
      sink: this.request.sink,
      accepts: this.#accepts,
      onMissed: this.#missed,
      onEnd: this.#ended,
      isOnNewConnection,
    });
    this.#proxied.start();
  }

  readonly #accepts = ({ status }: AnswerBegin): boolean => {
    const nowMs = this.#around.clock.monotonicMs();
    this.#status = status;
    this.#latencyMs = nowMs - this.#sentMs;
    if (this.#endpoint) this.#endpoint.heardMs = nowMs;
    return status !== misdirected && !this.#mayAskAnother(status);
  };

  /** Takes a token of the budget if it returns true. */
  #mayAskAnother(status: number): boolean {
    if (!repeatedStatuses.has(status) || this.#isRepeated || !this.request.isRead) return false;
    const endpoints = this.#around.routeOf(this.target)?.endpoints ?? [];
    const isHealthy = (other: CollectionEndpoint): boolean => other.state === 'HEALTHY' && !other.isFull;
    const isThere = endpoints.some((other) => other !== this.#endpoint && isHealthy(other) && !this.#hasTried(other));
    return isThere && this.#around.budget.spend();
  }

  readonly #ended = (error: Error | undefined, hasLeft: boolean): void => {
    if (hasLeft || isTooLong(error)) this.#leaveEndpoint('abandoned');
    else this.#leaveEndpoint(error ? 'gateway-error' : outcomeOf(this.#status));
  };

  readonly #missed = (miss: MissKind, error: Error): void => {
    const endpoint = this.#endpoint;
    if (isTooLong(error)) {
      this.#leaveEndpoint('abandoned');
      return this.#around.refuseTooLong(this.request);
    }
    switch (miss) {
      case 'refused':
        this.#leaveEndpoint(outcomeOf(this.#status));
        return this.#status === misdirected ? this.#refusedBy(endpoint) : this.#failedAt(endpoint);
      case 'unsent':
        this.#leaveEndpoint('gateway-error');
        this.#note(endpoint, 'unsent');
        return this.#attempt();
      case 'unread':
        this.#leaveEndpoint('gateway-error');
        if (!this.request.isReadWhole) return this.#brokeOff(endpoint, error);
        this.#note(endpoint, 'unread');
        return this.#attempt();
      // A worker may close a kept connection at any time, which says nothing about its health.
      case 'stale':
        this.#leaveEndpoint('abandoned');
        return this.#brokeOff(endpoint, error);
      case 'unknown':
        this.#leaveEndpoint('gateway-error');
        return this.#brokeOff(endpoint, error);
    }
  };

  #leaveEndpoint(outcome: RequestOutcome): void {
    this.#endpoint?.drop(this, outcome, this.#latencyMs);
    this.#endpoint = undefined;
  }

  /** The endpoint gets the request no more. */
  #note(endpoint: CollectionEndpoint | undefined, reason: RetryReason): void {
    if (!endpoint) return;
    (this.#tried ??= []).push(endpoint);
    this.#around.observe({ kind: 'gateway.retried', reason, workerId: endpoint.id });
  }

  #refusedBy(endpoint: CollectionEndpoint | undefined): void {
    const { refresh } = this.#around;
    if (!this.request.isWhole || this.#servesAnyway)
      return this.#refuse(collectionWorkerUnreachable({ reason: 'its workers refuse the request' }));
    this.#refusals += 1;
    this.#note(endpoint, 'wrong-worker');
    const refreshed = refresh(this.target);
    if (this.#refusals < maxRefusals && this.#hasUntried()) return this.#attempt();
    void refreshed.then(() => {
      if (this.#refusals >= maxRefusals || !this.#hasUntried()) {
        this.#servesAnyway = true;
        this.#tried = undefined;
      }
      this.#attempt();
    });
  }

  #failedAt(endpoint: CollectionEndpoint | undefined): void {
    this.#isRepeated = true;
    this.#note(endpoint, 'server-error');
    this.#attempt();
  }

  #hasUntried(): boolean {
    const endpoints = this.#around.routeOf(this.target)?.endpoints ?? [];
    return endpoints.some((endpoint) => !this.#hasTried(endpoint));
  }

  #hasTried(endpoint: CollectionEndpoint): boolean {
    return this.#tried?.includes(endpoint) === true;
  }

  #brokeOff(endpoint: CollectionEndpoint | undefined, error: Error): void {
    const { budget, clock, routeOf } = this.#around;
    const mayRepeat = this.request.isRepeatable && !this.#isRepeated && budget.spend();
    if (!mayRepeat) return this.#refuse(collectionWorkerBroke({ reason: error.message }));
    this.#isRepeated = true;
    this.#note(endpoint, 'broke-off');
    const route = routeOf(this.target);
    // The only worker of the collection: a new connection tells whether it is still there.
    if (endpoint && !endpoint.isHung && route?.endpoints.includes(endpoint) && !this.#hasUntried())
      this.#send(endpoint, route.generation, clock.monotonicMs(), true);
    else this.#attempt();
  }

  #hold(why: string): void {
    if (!this.request.sink.isOver) this.#around.hold(this, why);
  }

  #refuse(error: CodedError): void {
    this.#around.refuse(this.request, error);
  }
}

/** The answer of a worker that does not hold the collection. */
const misdirected = 421;
/** Answers that another worker may not give: this one, or what it needs, fails. */
const repeatedStatuses: ReadonlySet<number> = new Set([500, 502, 503, 504]);

function outcomeOf(status: number): RequestOutcome {
  if (status < 500) return 'answered';
  return status === 502 || status === 503 || status === 504 ? 'gateway-error' : 'server-error';
}

/** More of a streamed body came than it may have. The worker got a part of it, and acts on whole bodies only. */
function isTooLong(error: Error | undefined): boolean {
  return error !== undefined && 'code' in error && error.code === 'REQUEST_BODY_TOO_LARGE';
}
