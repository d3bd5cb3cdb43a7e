import { FastLaneSink, type AnswerSink, type FastLaneExchange, type FastLaneRequest } from '@drover/http-edge';
import { bodiesFull, requestBodyTooLarge } from './errors.js';
import {
  clientLeftStatus,
  type BodyLimits,
  type HoldBytes,
  type ReceivedRequest,
  type FunctionsWire,
} from './functions-wire.js';

/** A request of the fast lane: received as a whole, and answered in one write or through the proxy. */
export class FunctionsFastLaneWire implements FunctionsWire {
  readonly request: ReceivedRequest;
  readonly body = undefined;
  readonly #exchange: FastLaneExchange;
  readonly #received: Buffer;
  onEnd: ((status: number) => void) | undefined;

  constructor({ method, url, headers, rawHeaders, body }: FastLaneRequest, exchange: FastLaneExchange) {
    this.request = { method, url, headers, rawHeaders, httpVersion: '1.1', socket: exchange };
    this.#exchange = exchange;
    this.#received = body;
    exchange.onEnd = (isComplete, status) => this.onEnd?.(isComplete ? status : clientLeftStatus);
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get isOver(): boolean {
    return this.#exchange.isOver;
  }

  get hasBegun(): boolean {
    return this.#exchange.hasBegun;
  }

  answer(status: number, headers: readonly string[], body: string | Uint8Array | undefined): void {
    this.#exchange.answer(status, headers, typeof body === 'object' ? toBuffer(body) : body);
  }

  readBody(_limits: BodyLimits, limitBytes: number, hold: HoldBytes): Buffer {
    const body = this.#received;
    if (body.length > limitBytes) throw requestBodyTooLarge({ limitBytes });
    if (!hold(body.length)) throw bodiesFull({});
    return body;
  }

  sink(): AnswerSink {
    return new FastLaneSink(this.#exchange);
  }

  destroy(): void {
    this.#exchange.destroy();
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
