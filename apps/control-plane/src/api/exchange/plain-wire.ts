import type { PlainExchange, PlainRequest } from '@drover/plain-http';
import { clientLeft, type Wire, type WireEnd } from './wire.js';

/** The short way, which most calls take: the request is all there, and its answer is one write. */
export class PlainWire implements Wire {
  readonly request: PlainRequest;
  readonly #exchange: PlainExchange;
  onEnd: WireEnd | undefined;

  constructor(request: PlainRequest, exchange: PlainExchange) {
    this.request = request;
    this.#exchange = exchange;
    exchange.onLeft = () => this.onEnd?.(clientLeft, true);
  }

  get isOver(): boolean {
    return this.#exchange.isOver;
  }

  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast: boolean): void {
    this.#exchange.answer(status, headers, body, isLast);
    this.onEnd?.(status, false);
  }

  readBody(limitBytes: number, take: (body: Buffer) => void, tooLong: () => void): void {
    const { body } = this.request;
    if (body.length > limitBytes) tooLong();
    else take(body);
  }

  discardBody(): void {}

  streams(): undefined {
    this.#exchange.handOver();
  }
}
