import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyStream } from '../client/body-stream.js';
import type { AnswerSink } from '../proxy/answer-sink.js';
import { hasBody } from '../proxy/forwarded-request.js';
import { ResponseSink } from '../proxy/response-sink.js';
import { clientLeft, type EdgeRequest, type Wire, type WireEnd } from './wire.js';

/** A request of Node's server: bodies of any length, in parts of any size. */
export class StreamWire implements Wire {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #left: AbortController | undefined;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
  }

  set onEnd(end: WireEnd) {
    const response = this.#response;
    response.once('close', () =>
      end(response.headersSent ? response.statusCode : clientLeft, !response.writableFinished),
    );
  }

  get request(): EdgeRequest {
    return this.#request as IncomingMessage & EdgeRequest; // requests of a server have a method and a URL
  }

  get isOver(): boolean {
    return this.#response.headersSent || this.#response.destroyed;
  }

  get signal(): AbortSignal {
    if (!this.#left) {
      const response = this.#response;
      const left = (this.#left = new AbortController());
      const abort = (): void => {
        if (!response.writableFinished) left.abort(new Error('The client closed the connection.'));
      };
      response.once('close', abort);
      if (response.destroyed) abort();
    }
    return this.#left.signal;
  }

  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast: boolean): void {
    const all = [...headers];
    if (body !== undefined) all.push('content-length', String(Buffer.byteLength(body)));
    if (isLast) all.push('connection', 'close');
    this.#response.writeHead(status, all);
    this.#response.end(body);
  }

  readBody(limitBytes: number, use: (body: Buffer) => void, tooLong: () => void): void {
    const request = this.#request;
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > limitBytes) return tooLong();
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limitBytes) chunks.push(chunk);
      else if (bytes - chunk.length <= limitBytes) tooLong();
    });
    request.on('end', () => {
      if (bytes <= limitBytes) use(Buffer.concat(chunks, bytes));
    });
    request.on('error', () => undefined); // the client left, and gets no answer
  }

  discardBody(): void {
    if (!this.#request.complete) this.#request.resume();
  }

  proxied(): { readonly body: BodyStream | undefined; readonly sink: AnswerSink } {
    const request = this.#request;
    const isChunked = request.headers['transfer-encoding'] !== undefined;
    return {
      body: hasBody(request) ? { source: request, isChunked } : undefined,
      sink: new ResponseSink(this.#response),
    };
  }
}
