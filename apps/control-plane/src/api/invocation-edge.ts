import type { IncomingMessage, ServerResponse } from 'node:http';
import { functionNamePattern, isCodedError, type CodedError, type TenantId } from '@drover/contracts';
import type { FastLaneExchange, FastLaneRequest } from '@drover/http-edge';
import { continueTrace, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { type OwnerDirectory, type OwnerLocation, partitionOf, partitionOfExecution } from '@drover/ownership';
import type { Authenticator, Caller, Verdict } from '../access/authenticator.js';
import { accessDenied, authenticationRequired, requestInvalid, shuttingDown } from '../errors.js';
import { notHomeHeader, wasForwarded } from '../replicas/forward-headers.js';
import type { Forwarder } from '../replicas/forwarder.js';
import { shippedLimits, type HttpLimits } from '../http/http-limits.js';
import type { RequestFigures } from '../http/request-figures.js';
import { limitProblem } from '../http/request-limits.js';
import type { ControlPlaneObservation } from '../observations.js';
import type { AttemptTokens } from '../executions/attempt-tokens.js';
import type { InvocationEngine } from '../executions/engine.js';
import { callbackRefused, executionNotFound, ownerMoving } from '../executions/errors.js';
import type { ExecutionDesk } from '../executions/execution-desk.js';
import { serveEnqueue, serveEnqueueBatch, serveInvoke, type CallContext } from './calls.js';
import { serveComplete } from './completion.js';
import { EdgeMatcher, type Match } from './edge-routes.js';
import { Exchange } from './exchange/exchange.js';
import { FastLaneWire } from './exchange/fast-lane-wire.js';
import { StreamWire } from './exchange/stream-wire.js';

export interface InvocationEdgeOptions {
  readonly engine: InvocationEngine;
  readonly desk: ExecutionDesk;
  readonly tokens: AttemptTokens;
  /** Says in words why a result may not be sent there, if so, as far as that is known at once. */
  readonly callbackProblem: (url: string) => string | undefined;
  readonly owners: OwnerDirectory;
  readonly forwarder: Pick<Forwarder, 'forward'>;
  readonly authenticator: Pick<Authenticator, 'judge' | 'judgeAtOnce'>;
  /** Where other replicas, and we ourselves, reach us. */
  readonly url: () => string;
  /** Whether this process is about to end: connections end with their answers then. */
  readonly isEnding: () => boolean;
  readonly bodyLimitBytes: number;
  readonly limits?: HttpLimits;
  /** Whether somebody collects spans: then every request needs a place in a trace. */
  readonly isTraced: boolean;
  /** Whether the log takes single requests. */
  readonly isLogged: boolean;
  readonly figures: RequestFigures;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

/** How long a request waits for its function to find a home before it is sent away. */
const settleWithinMs = 5_000;
const validName = new RegExp(functionNamePattern);
const validId = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Where calls come in, on the bare HTTP server: who may, where the function's home is, and then either the engine here or the
 * replica that has it.
 */
export class InvocationEdge implements Lifecycle {
  readonly name = 'invocation edge';
  readonly #options: InvocationEdgeOptions;
  readonly #limits: HttpLimits;
  readonly #matcher = new EdgeMatcher();
  #isClosing = false;

  constructor(options: InvocationEdgeOptions) {
    this.#options = options;
    this.#limits = options.limits ?? shippedLimits;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {
    this.#isClosing = true;
  }

  async stop(): Promise<void> {}

  /** True when the request is one of these and is taken care of. */
  readonly take = (request: IncomingMessage, response: ServerResponse): boolean => {
    const match = this.#matcher.match(request.method ?? '', request.url ?? '');
    if (!match) return false;
    const problem = limitProblem(request, this.#limits);
    this.#begin(new StreamWire(request, response), match, problem);
    return true;
  };

  /** The same for requests of the fast lane, which has looked at their limits. */
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
    this.#guarded(exchange, () => this.#admit(exchange, match));
  }

  #admit(exchange: Exchange, match: Match): void {
    const { authenticator, tokens } = this.#options;
    if (match.token !== undefined) {
      const attempt = tokens.attemptOf(match.token, match.subject);
      return attempt === undefined ? exchange.refuse(callbackRefused({})) : this.#atHome(exchange, match, { attempt });
    }
    const { authorization } = exchange.request.headers;
    const verdict = authenticator.judgeAtOnce(authorization);
    if (verdict) return this.#judged(exchange, match, verdict);
    authenticator.judge(authorization).then(
      (judged) => this.#guarded(exchange, () => this.#judged(exchange, match, judged)),
      (error: unknown) => exchange.refuse(error),
    );
  }

  #judged(exchange: Exchange, match: Match, verdict: Verdict): void {
    const { requestId } = exchange;
    const { observe } = this.#options;
    if ('refused' in verdict) {
      observe({ kind: 'access.refused', requestId, reason: verdict.refused, keyId: verdict.keyId });
      return exchange.refuse(authenticationRequired({}));
    }
    const { caller } = verdict;
    exchange.keyId = caller.keyId;
    const { access } = match.operation.route;
    if (access !== 'public' && !caller.scopes.includes(access)) {
      observe({ kind: 'access.refused', requestId, reason: 'scope', keyId: caller.keyId });
      return exchange.refuse(accessDenied({ scope: access }));
    }
    this.#atHome(exchange, match, { caller });
  }

  /** Here, at the replica that has it, or as soon as somebody has it. */
  #atHome(exchange: Exchange, match: Match, by: Bearer): void {
    const { owners } = this.#options;
    const partition = this.#partitionOf(match, by.caller?.tenantId);
    const location = owners.locate(partition);
    if (location.kind !== 'moving') return this.#route(exchange, match, by, location);
    owners.waitForOwner(partition, settleWithinMs).then(
      (settled) => this.#guarded(exchange, () => this.#route(exchange, match, by, settled)),
      (error: unknown) => exchange.refuse(error),
    );
  }

  #route(exchange: Exchange, match: Match, by: Bearer, location: OwnerLocation): void {
    if (location.kind === 'local') return this.#serve(exchange, match, by);
    // Nobody has begun with it: whoever passed it on may look for the home once more.
    if (wasForwarded(exchange.request)) return exchange.refuse(ownerMoving({}), [notHomeHeader, '1']);
    if (location.kind === 'moving') return exchange.refuse(ownerMoving({}));
    const streams = exchange.wire.streams();
    if (!streams) return;
    const partition = this.#partitionOf(match, by.caller?.tenantId);
    const { forwarder } = this.#options;
    forwarder.forward(streams.request, streams.response, location.url, undefined, () => this.#urlOf(partition));
  }

  /** Where a partition is once it has settled; it may have come here meanwhile. */
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
              'the name of a function is a letter, then up to 62 letters, digits, dots, underscores and hyphens, not escaped',
          });
        return tenantId === undefined ? 0 : partitionOf(tenantId, subject);
    }
  }

  #serve(exchange: Exchange, { operation, subject }: Match, { caller, attempt }: Bearer): void {
    const { engine, desk, clock, bodyLimitBytes, callbackProblem } = this.#options;
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
        return this.#answerLater(exchange, desk.get(tenantId, subject), 200);
      case 'cancel':
        return this.#answerLater(exchange, desk.cancel(tenantId, subject), 200);
      case 'replay': {
        // How one replica asks another to redrive.
        const isRedrive = exchange.request.url.endsWith('?dead-letter=true');
        return this.#answerLater(
          exchange,
          desk.replay(tenantId, subject, isRedrive).then((accepted) => JSON.stringify(accepted)),
          202,
        );
      }
    }
  }

  #answerLater(exchange: Exchange, work: Promise<string>, status: number): void {
    exchange.wire.discardBody(); // if there is one, it says nothing
    work.then(
      (text) => exchange.answer(status, text),
      (error: unknown) => exchange.refuse(error),
    );
  }

  #guarded(exchange: Exchange, action: () => void): void {
    try {
      action();
    } catch (error) {
      exchange.refuse(error);
    }
  }

  #observeEnd(exchange: Exchange, status: number, hasLeft: boolean): void {
    const { clock, randomness, observe, isTraced, isLogged, figures } = this.#options;
    const { request, requestId, route, failure } = exchange;
    if (hasLeft) exchange.onLeft?.();
    if (failure !== undefined && !(isCodedError(failure) && failure.retryable))
      observe({ kind: 'http.failed', requestId, route, error: failure });
    const durationMs = clock.monotonicMs() - exchange.startedMs;
    const { method } = request;
    figures.note(method, route, status, durationMs);
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

/** Who asks: somebody with a key, or somebody who was given this attempt. */
interface Bearer {
  readonly caller?: Caller;
  readonly attempt?: number;
}
