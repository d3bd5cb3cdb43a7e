import type { IncomingMessage, ServerResponse } from 'node:http';
import { ResponseSink, type AnswerSink } from '@drover/http-edge';
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

  /** `signal` aborts when the connection closes. */
  constructor(request: IncomingMessage, response: ServerResponse, signal: AbortSignal) {
    this.request = request;
    this.signal = signal;
    this.#response = response;
    response.once('close', () => this.onEnd?.(response.writableFinished ? response.statusCode : clientLeftStatus));
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
    response.writeHead(status, all);
    if (!this.request.complete) discardRest(this.request, response);
    if (body === undefined || this.request.method === 'HEAD') response.end();
    else if (typeof body !== 'string' && body.byteLength <= smallBytes) response.end(toLatin1(body), 'latin1');
    else response.end(body);
  }

  readBody(limits: BodyLimits, limitBytes: number, hold: HoldBytes): Promise<Buffer> {
    return readBody(this.request, limits, limitBytes, hold);
  }

  sink(): AnswerSink {
    return new ResponseSink(this.#response);
  }

  destroy(): void {
    this.#response.destroy();
  }
}

/** How much of a body that was answered early is still read, and how long nothing of it may arrive. */
const discardedBytes = 67_108_864;
const discardIdleMs = 5_000;

/**
 * Reads and drops the rest of a body whose request is answered already. Closing the connection instead would reset it while
 * the client is sending, and most clients then lose the answer, a 413 for example. A client that goes on sending regardless
 * has to wait, and is closed as an idle one.
 */
function discardRest(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  let bytes = 0;
  const limitIdleTime = (): void => {
    if (!request.complete) socket.setTimeout(discardIdleMs);
  };
  limitIdleTime();
  response.once('finish', limitIdleTime); // Node sets the time limit of idle connections then
  request.once('end', () => socket.setTimeout(0));
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes > discardedBytes) request.pause();
  });
  request.on('error', () => undefined).resume();
}

/** Every byte as the character with its number, which is written as that byte again. */
function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function lengthOf(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
}
