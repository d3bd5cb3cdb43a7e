import type { Answer, AnswerReceiver, ClientRequest } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import type { EndpointConnection } from '../outbound/endpoint-connection.js';
import { toFault } from '../outbound/endpoint-fault.js';
import type { EndpointTarget } from '../outbound/endpoint-targets.js';
import type { AttemptResult } from '../dispatcher.js';
import { poolError, readAnswer } from './read-answer.js';

/** One request and its answer. Ends once; what comes later is ignored. */
export class EndpointCall implements AnswerReceiver {
  readonly #target: EndpointTarget;
  readonly #connection: EndpointConnection;
  readonly #period: number;
  readonly #clock: Clock;
  readonly #end: (result: AttemptResult) => void;
  #ended = false;

  constructor(target: EndpointTarget, clock: Clock, end: (result: AttemptResult) => void) {
    this.#target = target;
    this.#connection = target.connections.take();
    this.#period = target.breaker.period;
    this.#clock = clock;
    this.#end = end;
  }

  send(request: ClientRequest): void {
    if (!this.#ended) this.#connection.send(request, this);
  }

  /** Nobody wants the answer any more. The connection goes with it: it is not ours to wait for. */
  abandon(reason: 'timeout' | 'cancelled' | 'completed' | 'stopping'): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, connections, origin } = this.#target;
    // Out of time before there was a connection: the endpoint is not there. With one, it may just be slow.
    if (reason === 'timeout' && !this.#connection.isConnected) breaker.failed(this.#period, this.#clock.monotonicMs());
    else breaker.released(this.#period);
    connections.drop(this.#connection);
    this.#end(poolError(`the call of ${origin} was given up`, true));
  }

  answered(answer: Answer): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, connections, origin } = this.#target;
    connections.give(this.#connection);
    breaker.succeeded(this.#period);
    this.#end(readAnswer(answer, origin, () => this.#clock.now()));
  }

  failed(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, connections, origin } = this.#target;
    const fault = toFault(error, origin, this.#connection.begin !== undefined);
    if (fault.isTransport) breaker.failed(this.#period, this.#clock.monotonicMs());
    else breaker.released(this.#period);
    connections.drop(this.#connection);
    this.#end(poolError(fault.message, fault.transient));
  }
}
