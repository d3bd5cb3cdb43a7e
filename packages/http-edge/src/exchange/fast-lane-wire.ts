import type { AnswerSink } from '../proxy/answer-sink.js';
import { FastLaneSink } from '../proxy/fast-lane-sink.js';
import type { FastLaneExchange } from '../server/fast-lane/fast-lane-exchange.js';
import type { FastLaneRequest } from '../server/fast-lane/fast-lane-request.js';
import { clientLeft, type Wire, type WireEnd } from './wire.js';

/** A request of the fast lane, as most calls are: received as a whole, and answered in one write. */
export class FastLaneWire implements Wire {
  readonly request: FastLaneRequest;
  readonly #exchange: FastLaneExchange;
  onEnd: WireEnd | undefined;

  constructor(request: FastLaneRequest, exchange: FastLaneExchange) {
    this.request = request;
    this.#exchange = exchange;
    exchange.onEnd = (isComplete, status) => this.onEnd?.(status === 0 ? clientLeft : status, !isComplete);
  }

  get isOver(): boolean {
    return this.#exchange.isOver;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast: boolean): void {
    this.#exchange.answer(status, headers, body, isLast);
  }

  readBody(limitBytes: number, use: (body: Buffer) => void, tooLong: () => void): void {
    const { body } = this.request;
    if (body.length > limitBytes) tooLong();
    else use(body);
  }

  discardBody(): void {}

  proxied(): { readonly body: Buffer | undefined; readonly sink: AnswerSink } {
    const { body } = this.request;
    return { body: body.length === 0 ? undefined : body, sink: new FastLaneSink(this.#exchange) };
  }
}
