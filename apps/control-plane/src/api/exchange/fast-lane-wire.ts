import type { FastLaneExchange, FastLaneRequest } from '@drover/http-edge';
import { clientLeft, type Wire, type WireEnd } from './wire.js';

/** The short way, which most calls take: the request is all there, and its answer is one write. */
export class FastLaneWire implements Wire {
  readonly request: FastLaneRequest;
  readonly #exchange: FastLaneExchange;
  onEnd: WireEnd | undefined;

  constructor(request: FastLaneRequest, exchange: FastLaneExchange) {
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
