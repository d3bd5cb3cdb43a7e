import type { Clock } from '@drover/service-kit';
import type { Dispatcher as HttpDispatcher } from 'undici';
import type { EndpointConnection } from '../../endpoints/endpoint-connection.js';
import { toFault } from '../../endpoints/endpoint-fault.js';
import type { EndpointTarget } from '../../endpoints/endpoint-targets.js';
import type { AttemptResult } from '../dispatcher.js';
import { poolError, readAnswer } from './read-answer.js';

const smallestRoom = 16_384;
const noHeaders: readonly Buffer[] = [];

/**
 * One request and its answer. Speaks undici's older handler interface: it hands over headers as bytes, of which we look at two or three,
 * and wraps nothing around us. Ends once; what comes later is ignored.
 */
export class PoolCall implements HttpDispatcher.DispatchHandler {
  readonly #target: EndpointTarget;
  readonly #connection: EndpointConnection;
  readonly #period: number;
  readonly #clock: Clock;
  readonly #end: (result: AttemptResult) => void;
  #ended = false;
  #wasSent = false;
  #status = 0;
  #headers = noHeaders;
  #body: Buffer | undefined;
  /** Of the body; from the second piece on there is room behind it. */
  #length = 0;

  constructor(target: EndpointTarget, clock: Clock, end: (result: AttemptResult) => void) {
    this.#target = target;
    this.#connection = target.connections.take();
    this.#period = target.breaker.period;
    this.#clock = clock;
    this.#end = end;
  }

  send(options: HttpDispatcher.DispatchOptions): void {
    if (!this.#ended) this.#connection.send(options, this);
  }

  /** Nobody wants the answer any more. The connection goes with it: it is not ours to wait for. */
  abandon(reason: 'timeout' | 'cancelled' | 'completed' | 'stopping'): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, connections, origin } = this.#target;
    // Out of time before there was a connection: the endpoint is not there. With one, it may just be slow.
    if (reason === 'timeout' && !this.#wasSent) breaker.failed(this.#period, this.#clock.monotonicMs());
    else breaker.released(this.#period);
    connections.drop(this.#connection);
    this.#end(poolError(`the call of ${origin} was given up`, true));
  }

  onConnect(): void {
    this.#wasSent = true;
  }

  onHeaders(status: number, headers: Buffer[]): boolean {
    // Hints before the answer have no meaning for us.
    if (status < 200) return true;
    this.#status = status;
    this.#headers = headers;
    return true;
  }

  onData(piece: Buffer): boolean {
    const length = this.#length + piece.length;
    if (this.#body === undefined) {
      this.#body = piece;
    } else {
      // Copied, not collected: an answer in pieces of one byte would take a hundred times its size.
      if (this.#body.length < length) this.#grow(length);
      piece.copy(this.#body, this.#length);
    }
    this.#length = length;
    return true;
  }

  onComplete(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, connections, origin } = this.#target;
    connections.give(this.#connection);
    breaker.succeeded(this.#period);
    const body = this.#body;
    const isExact = body === undefined || body.length === this.#length;
    const answer = {
      status: this.#status,
      headers: this.#headers,
      body: isExact ? body : body.subarray(0, this.#length),
    };
    this.#end(readAnswer(answer, origin, () => this.#clock.now()));
  }

  onError(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    const { breaker, connections, origin } = this.#target;
    const fault = toFault(error, origin, this.#status !== 0);
    if (fault.isTransport) breaker.failed(this.#period, this.#clock.monotonicMs());
    else breaker.released(this.#period);
    connections.drop(this.#connection);
    this.#end(poolError(fault.message, fault.transient));
  }

  /** Doubles, so that each byte is moved a few times at most, however many pieces there are. */
  #grow(length: number): void {
    const body = Buffer.allocUnsafe(Math.max(length, 2 * this.#length, smallestRoom));
    this.#body?.copy(body, 0, 0, this.#length);
    this.#body = body;
  }
}
