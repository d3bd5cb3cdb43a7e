import type { Answer, AnswerReceiver, ClientRequest } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import type { EndpointConnection } from '../outbound/endpoint-connection.js';
import { toFault } from '../outbound/endpoint-fault.js';
import type { EndpointTarget } from '../outbound/endpoint-targets.js';
import type { AttemptResult } from '../dispatcher.js';
import { endpointError, readAnswer, turnedAway } from './read-answer.js';

/** One request and its response. Settles once and reports its end to connection and circuit breaker; later events are ignored. */
export class EndpointCall implements AnswerReceiver {
  readonly #target: EndpointTarget;
  readonly #connection: EndpointConnection;
  readonly #period: number;
  readonly #clock: Clock;
  readonly #end: (result: AttemptResult) => void;
  #ended = false;

  constructor(target: EndpointTarget, clock: Clock, end: (result: AttemptResult) => void) {
    this.#target = target;
    this.#connection = target.connections.acquire();
    this.#period = target.breaker.period;
    this.#clock = clock;
    this.#end = end;
  }

  send(request: ClientRequest): void {
    if (!this.#ended) this.#connection.send(request, this, () => this.#target.breaker.connected(this.#period));
  }

  /** Settles without a response and closes the connection, since a response may still arrive on it. */
  abandon(reason: 'timeout' | 'cancelled' | 'completed' | 'stopping'): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, connections, origin } = this.#target;
    // A time-out before the connection was established counts as a failure; after that the endpoint may just be slow.
    if (reason === 'timeout' && !this.#connection.isConnected) breaker.failed(this.#period, this.#clock.monotonicMs());
    else breaker.released(this.#period);
    connections.drop(this.#connection);
    this.#end(endpointError(`the call of ${origin} was abandoned`, true));
  }

  answered(answer: Answer): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, connections, origin } = this.#target;
    connections.release(this.#connection);
    breaker.succeeded(this.#period);
    this.#end(readAnswer(answer, origin, () => this.#clock.now()));
  }

  failed(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, connections, origin } = this.#target;
    const fault = toFault(error, origin, this.#connection.begin !== undefined);
    const wasSent = this.#connection.isConnected;
    // An input that breaks its connection says nothing about the next one: the endpoint was reached.
    if (wasSent) breaker.succeeded(this.#period);
    else if (fault.isTransport) breaker.failed(this.#period, this.#clock.monotonicMs());
    else breaker.released(this.#period);
    connections.drop(this.#connection);
    // Without a connection the endpoint has not seen the call. Otherwise the handler may have run, and may be what broke it.
    this.#end(
      fault.transient && !wasSent
        ? { ...turnedAway(fault.message), wasNotSent: true }
        : endpointError(fault.message, fault.transient),
    );
  }
}
