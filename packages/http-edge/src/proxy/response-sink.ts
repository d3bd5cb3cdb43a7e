import type { AnswerBegin } from '../client/answer-reader.js';
import type { AnswerSink } from './answer-sink.js';

/** As much of Node's `ServerResponse` as an answer needs, so that a buffer can stand in for it. */
export interface ResponseStream extends NodeJS.WritableStream {
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
  writeHead(status: number, statusText: string, headers: string[]): unknown;
  flushHeaders(): void;
  destroy(): unknown;
}

/** Answers a request of Node's server. */
export class ResponseSink implements AnswerSink {
  readonly #response: ResponseStream;
  onDrain: (() => void) | undefined;
  onLeft: (() => void) | undefined;

  constructor(response: ResponseStream) {
    this.#response = response;
    response.on('drain', () => this.onDrain?.());
    response.once('close', () => {
      if (!response.writableFinished) this.onLeft?.();
    });
  }

  get isOver(): boolean {
    return this.#response.destroyed || this.#response.headersSent;
  }

  answer(begin: AnswerBegin, headers: readonly string[], body: Buffer | undefined): void {
    this.#writeHead(begin, headers);
    if (body) this.#response.end(body);
    else this.#response.end();
  }

  begin(begin: AnswerBegin, headers: readonly string[]): void {
    this.#writeHead(begin, headers);
    // A stream of events may have its first one long after its head.
    this.#response.flushHeaders();
  }

  write(bytes: Buffer): boolean {
    return this.#response.destroyed || this.#response.write(bytes);
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#response.destroy();
  }

  #writeHead({ status, statusText }: AnswerBegin, headers: readonly string[]): void {
    this.#response.writeHead(status, statusText, [...headers]);
  }
}
