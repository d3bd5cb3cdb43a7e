import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { FunctionDefinition } from '../function-definition.js';
import type { BreakerPolicy } from '../outbound/circuit-breaker.js';
import type { EndpointGuard } from '../outbound/endpoint-guard.js';
import { EndpointTargets, type EndpointTarget } from '../outbound/endpoint-targets.js';
import type { EndpointObservation } from '../outbound/observations.js';
import type { Attempt, AttemptResult, Dispatcher } from '../dispatcher.js';
import { EndpointCall } from './endpoint-call.js';
import { commonHead, ownLines, requestBody } from './endpoint-request.js';
import { turnedAway } from './read-answer.js';

export interface EndpointDispatcherOptions {
  readonly guard: EndpointGuard;
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'fraction'>;
  readonly observe: Observe<EndpointObservation>;
  /** Limit of the body of a response. */
  readonly maxResponseBytes?: number;
  readonly connectTimeoutMs?: number;
  /** Origins that are kept, with their idle connections and circuit breakers. */
  readonly maxTargets?: number;
  readonly breaker?: BreakerPolicy;
  /** Certificate authorities to trust instead of the default ones. */
  readonly ca?: string;
}

/** Everything about a call that depends on the definition only; created once for each definition. */
type CallPlan = { readonly target: EndpointTarget; readonly head: string } | { readonly refused: AttemptResult };

/** Posts attempts to HTTP endpoints of tenants. */
export class EndpointDispatcher implements Dispatcher {
  readonly name = 'endpoint dispatcher';
  readonly mode = 'POOL';
  readonly #options: EndpointDispatcherOptions;
  readonly #plans = new WeakMap<FunctionDefinition, CallPlan>();
  readonly #targets: EndpointTargets;
  readonly #calls = new Set<EndpointCall>();
  #isOpen = true;
  #onIdle: () => void = () => undefined;

  constructor(options: EndpointDispatcherOptions) {
    this.#options = options;
    const { maxResponseBytes = 8_388_608, connectTimeoutMs = 5_000, ...rest } = options;
    this.#targets = new EndpointTargets({ ...rest, limits: { maxResponseBytes, connectTimeoutMs } });
  }

  start(): Promise<void> {
    this.#isOpen = true;
    return Promise.resolve();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    this.#isOpen = false;
    if (this.#calls.size === 0 || deadline.aborted) return;
    await new Promise<void>((resolve) => {
      const others = this.#onIdle;
      this.#onIdle = () => {
        others();
        resolve();
      };
      deadline.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  async stop(): Promise<void> {
    this.#isOpen = false;
    for (const call of this.#calls) call.abandon('stopping');
    await this.#targets.close();
  }

  dispatch(attempt: Attempt): Promise<AttemptResult> {
    if (!this.#isOpen) return Promise.resolve(turnedAway('this process is stopping'));
    const plan = this.#planFor(attempt.definition);
    if ('refused' in plan) return Promise.resolve(plan.refused);
    const { target, head } = plan;
    const pauseMs = target.breaker.admit(this.#options.clock.monotonicMs());
    if (pauseMs > 0) {
      const message = `${target.origin} could not be reached; its circuit breaker refuses calls for a moment`;
      return Promise.resolve({ ...turnedAway(message), retryAfterMs: pauseMs, queuePauseMs: pauseMs });
    }
    return new Promise((resolve) => {
      const request = { head: head + ownLines(attempt), body: requestBody(attempt.accepted) };
      const call = new EndpointCall(target, this.#options.clock, (result) => {
        this.#calls.delete(call);
        if (this.#calls.size === 0) this.#onIdle();
        resolve(result);
      });
      this.#calls.add(call);
      attempt.onAbandoned((reason) => call.abandon(reason));
      call.send(request);
    });
  }

  #planFor(definition: FunctionDefinition): CallPlan {
    const known = this.#plans.get(definition);
    if (known && !('target' in known && known.target.isRetired)) return known;
    const plan = this.#makePlan(definition);
    this.#plans.set(definition, plan);
    return plan;
  }

  #makePlan(definition: FunctionDefinition): CallPlan {
    const { endpointUrl, tenantId } = definition;
    if (endpointUrl === undefined)
      return {
        refused: failed(
          'POOL_ENDPOINT_MISSING',
          'the function has no endpointUrl; register it with an http or https URL',
        ),
      };
    const problem = this.#options.guard.quickProblemOf(endpointUrl);
    if (problem !== undefined) return { refused: failed('POOL_ERROR', problem) };
    const url = new URL(endpointUrl);
    return { target: this.#targets.targetFor(tenantId, url), head: commonHead(url) };
  }
}

function failed(code: string, message: string): AttemptResult {
  return { kind: 'failed', code, message, transient: false };
}
