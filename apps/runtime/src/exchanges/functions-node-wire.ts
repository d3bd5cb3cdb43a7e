import type { IncomingMessage, ServerResponse } from 'node:http';
import { ResponseSink, type AnswerSink, type OpenConnection } from '@drover/http-edge';
import { readBody } from './read-body.js';
import { clientLeftStatus, type BodyLimits, type HoldBytes, type FunctionsWire } from './functions-wire.js';

/** A text goes out in one buffer with the headers before it; bytes would be a second one, which costs more than to copy them. */
const smallBytes = 16_384;

/** A request of Node's server: bodies of any length, in parts of any size. */
export class FunctionsNodeWire implements FunctionsWire {
  readonly request: IncomingMessage;
  readonly signal: AbortSignal;
  readonly #response: ServerResponse;
  onEnd: ((status: number) => void) | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, connection: OpenConnection) {
    this.request = request;
    this.signal = connection.signal;
    this.#response = response;
    response.once('close', () => {
      connection.release();
      this.onEnd?.(response.writableFinished ? response.statusCode : clientLeftStatus);
    });
  }

  get isOver(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  get body(): IncomingMessage {
    return this.request;
  }

  answer(status: number, headers: readonly string[], body: string | Uint8Array | undefined): void {
    const response = this.#response;
    const all = [...headers];
    if (body !== undefined) all.push('content-length', String(lengthOf(body)));
    // The rest of the request's body would otherwise have to be read before the next request.
    if (!this.request.complete) all.push('connection', 'close');
    response.writeHead(status, all);
    if (body === undefined || this.request.method === 'HEAD') response.end();
    else if (typeof body !== 'string' && body.byteLength <= smallBytes) response.end(toLatin1(body), 'latin1');
    else response.end(body);
  }

  readBody(limits: BodyLimits, hold: HoldBytes): Promise<Buffer> {
    return readBody(this.request, limits, hold);
  }

  sink(): AnswerSink {
    return new ResponseSink(this.#response);
  }

  destroy(): void {
    this.#response.destroy();
  }
}

/** Every byte as the character with its number, which is written as that byte again. */
function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function lengthOf(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
}
