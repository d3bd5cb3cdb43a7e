import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  accessDenied,
  authenticationRequired,
  type Authentication,
  type Authenticator,
  type Caller,
} from '@drover/collection-engine';
import { functionNamePattern, isCodedError, type CodedError, type TenantId } from '@drover/contracts';
import {
  FastLaneWire,
  limitProblem,
  shuttingDown,
  StreamWire,
  type FastLaneExchange,
  type FastLaneRequest,
  type PortLimits,
  type RequestDurations,
  publicPortLimits,
} from '@drover/http-edge';
import { continueTrace, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { type OwnerDirectory, type OwnerLocation, partitionOf, partitionOfExecution } from '@drover/ownership';
import { requestInvalid } from '../errors.js';
import { notOwnerHeader, wasForwarded } from '../replicas/forward-headers.js';
import type { RequestForwarder } from '../replicas/request-forwarder.js';
import type { ControlPlaneObservation } from '../observations.js';
import type { AttemptTokens } from '../executions/attempts/attempt-tokens.js';
import type { InvocationEngine } from '../executions/engine.js';
import { callbackRefused, executionNotFound, ownerMoving } from '../executions/errors.js';
import type { ExecutionCommands } from '../executions/queries/execution-commands.js';
import type { ExecutionQueries } from '../executions/queries/execution-queries.js';
import { serveEnqueue, serveEnqueueBatch, serveInvoke, type CallContext } from './calls.js';
import { serveComplete } from './completion.js';
import { EdgeMatcher, type Match } from './edge-routes.js';
import { Exchange } from './exchange/exchange.js';

export interface InvocationEdgeOptions {
  readonly engine: InvocationEngine;
  readonly queries: ExecutionQueries;
  readonly commands: ExecutionCommands;
  readonly tokens: AttemptTokens;
  /** Returns why results may not be sent to the URL, or undefined; checks only what needs no name resolution. */
  readonly callbackProblem: (url: string) => string | undefined;
  readonly owners: OwnerDirectory;
  readonly forwarder: Pick<RequestForwarder, 'forward'>;
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'authenticateCached'>;
  /** The URL at which other replicas, and this one, reach this replica. */
  readonly url: () => string;
  /** Whether this process is shutting down: responses then close their connections. */
  readonly isEnding: () => boolean;
  readonly bodyLimitBytes: number;
  readonly limits?: PortLimits;
  /** Whether spans are exported: then every request gets a trace context. */
  readonly isTraced: boolean;
  /** Whether single requests are logged. */
  readonly isLogged: boolean;
  readonly durations: RequestDurations;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

/** How long a request waits for a partition that is changing its owner before it is refused. */
const settleWithinMs = 5_000;
const validName = new RegExp(functionNamePattern);
const validId = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Serves calls of functions and executions below the HTTP framework: authenticates, locates the owner of the partition, and
 * passes the call to the local engine or forwards it to the owning replica.
 */
export class InvocationEdge implements Lifecycle {
  readonly name = 'invocation edge';
  readonly #options: InvocationEdgeOptions;
  readonly #limits: PortLimits;
  readonly #matcher = new EdgeMatcher();
  #isClosing = false;

  constructor(options: InvocationEdgeOptions) {
    this.#options = options;
    this.#limits = options.limits ?? publicPortLimits;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {
    this.#isClosing = true;
  }

  async stop(): Promise<void> {}

  /** Serves the request if it matches a route. Returns false if another handler has to. */
  readonly take = (request: IncomingMessage, response: ServerResponse): boolean => {
    const match = this.#matcher.match(request.method ?? '', request.url ?? '');
    if (!match) return false;
    const problem = limitProblem(request, this.#limits);
    this.#begin(new StreamWire(request, response), match, problem);
    return true;
  };

  /** Serves a request of the fast lane, which has checked its limits. */
  readonly takeFastLane = (request: FastLaneRequest, exchange: FastLaneExchange): boolean => {
    const match = this.#matcher.match(request.method, request.url);
    if (match) this.#begin(new FastLaneWire(request, exchange), match, undefined);
    return match !== undefined;
  };

  #begin(wire: FastLaneWire | StreamWire, match: Match, problem: CodedError | undefined): void {
    const exchange = new Exchange(wire, {
      route: match.operation.route.path,
      startedMs: this.#options.clock.monotonicMs(),
      isClosing: this.#isClosing || this.#options.isEnding(),
    });
    wire.onEnd = (status, hasLeft) => this.#observeEnd(exchange, status, hasLeft);
    if (this.#isClosing) return exchange.refuse(shuttingDown({}));
    if (problem) return exchange.refuse(problem);
    exchange.guard(() => this.#admit(exchange, match));
  }

  #admit(exchange: Exchange, match: Match): void {
    const { authenticator, tokens } = this.#options;
    if (match.token !== undefined) {
      const attempt = tokens.attemptOf(match.token, match.subject);
      return attempt === undefined ? exchange.refuse(callbackRefused({})) : this.#locate(exchange, match, { attempt });
    }
    const { authorization } = exchange.request.headers;
    const authentication = authenticator.authenticateCached(authorization);
    if (authentication) return this.#authorize(exchange, match, authentication);
    authenticator.authenticate(authorization).then(
      (authenticated) => exchange.guard(() => this.#authorize(exchange, match, authenticated)),
      (error: unknown) => exchange.refuse(error),
    );
  }

  #authorize(exchange: Exchange, match: Match, authentication: Authentication): void {
    const { requestId } = exchange;
    const { observe } = this.#options;
    if ('refused' in authentication) {
      observe({ kind: 'access.refused', requestId, reason: authentication.refused, keyId: authentication.keyId });
      return exchange.refuse(authenticationRequired({}));
    }
    const { caller } = authentication;
    exchange.keyId = caller.keyId;
    const { access } = match.operation.route;
    if (access !== 'public' && !caller.scopes.includes(access)) {
      observe({ kind: 'access.refused', requestId, reason: 'scope', keyId: caller.keyId });
      return exchange.refuse(accessDenied({ scope: access }));
    }
    this.#locate(exchange, match, { caller });
  }

  /** Routes to the partition's owner, at once or when the partition has settled. */
  #locate(exchange: Exchange, match: Match, by: Bearer): void {
    const { owners } = this.#options;
    const partition = this.#partitionOf(match, by.caller?.tenantId);
    const location = owners.locate(partition);
    if (location.kind !== 'moving') return this.#route(exchange, match, by, location);
    owners.waitForOwner(partition, settleWithinMs).then(
      (settled) => exchange.guard(() => this.#route(exchange, match, by, settled)),
      (error: unknown) => exchange.refuse(error),
    );
  }

  #route(exchange: Exchange, match: Match, by: Bearer, location: OwnerLocation): void {
    if (location.kind === 'local') return this.#serve(exchange, match, by);
    // The call was not started, so the forwarding replica may locate the owner again.
    if (wasForwarded(exchange.request)) return exchange.refuse(ownerMoving({}), [notOwnerHeader, '1']);
    if (location.kind === 'moving') return exchange.refuse(ownerMoving({}));
    const partition = this.#partitionOf(match, by.caller?.tenantId);
    const source = {
      request: exchange.request,
      ...exchange.wire.proxied(),
      refuse: (error: CodedError) => exchange.refuse(error),
    };
    this.#options.forwarder.forward(source, location.url, () => this.#urlOf(partition));
  }

  /** Returns the owner's URL once the partition has settled; the owner may be this replica by then. */
  async #urlOf(partition: number): Promise<string | undefined> {
    const { owners, url } = this.#options;
    const location = await owners.waitForOwner(partition, settleWithinMs);
    return location.kind === 'remote' ? location.url : location.kind === 'local' ? url() : undefined;
  }

  #partitionOf({ operation, subject }: Match, tenantId: TenantId | undefined): number {
    switch (operation.name) {
      case 'get':
      case 'cancel':
      case 'replay':
      case 'complete':
        if (!validId.test(subject)) throw executionNotFound({ executionId: subject.slice(0, 100) });
        return partitionOfExecution(subject);
      default:
        if (!validName.test(subject))
          throw requestInvalid({
            problem:
              'The name of a function must be a letter followed by up to 62 letters, digits, dots, underscores and hyphens, not percent-encoded.',
          });
        return tenantId === undefined ? 0 : partitionOf(tenantId, subject);
    }
  }

  #serve(exchange: Exchange, { operation, subject }: Match, { caller, attempt }: Bearer): void {
    const { engine, queries, commands, clock, bodyLimitBytes, callbackProblem } = this.#options;
    if (operation.name === 'complete')
      return serveComplete(exchange, { engine, bodyLimitBytes, executionId: subject, caller, attempt });
    if (!caller) return exchange.refuse(authenticationRequired({}));
    const { tenantId } = caller;
    const context: CallContext = { engine, clock, bodyLimitBytes, callbackProblem, tenantId, name: subject };
    switch (operation.name) {
      case 'invoke':
        return serveInvoke(exchange, context, 'envelope');
      case 'open-faas':
        return serveInvoke(exchange, context, 'raw');
      case 'enqueue':
        return serveEnqueue(exchange, context, 'enqueue');
      case 'open-faas-async':
        return serveEnqueue(exchange, context, 'raw');
      case 'enqueue-batch':
        return serveEnqueueBatch(exchange, context);
      case 'get':
        return this.#answerLater(exchange, queries.get(tenantId, subject), 200);
      case 'cancel':
        return this.#answerLater(exchange, commands.cancel(tenantId, subject), 200);
      case 'replay': {
        // Sent by a replica that redrives a dead letter of this partition.
        const isRedrive = exchange.request.url.endsWith('?dead-letter=true');
        return this.#answerLater(
          exchange,
          commands.replay(tenantId, subject, isRedrive).then((accepted) => JSON.stringify(accepted)),
          202,
        );
      }
    }
  }

  #answerLater(exchange: Exchange, work: Promise<string>, status: number): void {
    exchange.wire.discardBody(); // these operations take none
    work.then(
      (text) => exchange.answer(status, text),
      (error: unknown) => exchange.refuse(error),
    );
  }

  #observeEnd(exchange: Exchange, status: number, hasLeft: boolean): void {
    const { clock, randomness, observe, isTraced, isLogged, durations } = this.#options;
    const { request, requestId, route, failure } = exchange;
    if (hasLeft) exchange.onLeft?.();
    if (failure !== undefined && !(isCodedError(failure) && failure.retryable))
      observe({ kind: 'http.failed', requestId, route, error: failure });
    const durationMs = clock.monotonicMs() - exchange.startedMs;
    const { method } = request;
    durations.record(method, route, status, durationMs);
    if (!isTraced && !isLogged) return;
    observe({
      kind: 'http.request',
      requestId,
      method,
      route,
      status,
      durationMs,
      endedAt: clock.now(),
      keyId: exchange.keyId,
      trace: continueTrace(request.headers.traceparent as string | undefined, randomness),
    });
  }
}

/** The proof that a request carries: an API key, or the token of one attempt. */
interface Bearer {
  readonly caller?: Caller;
  readonly attempt?: number;
}
