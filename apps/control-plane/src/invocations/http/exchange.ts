import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isCodedError, toErrorBody } from '@drover/contracts';
import { bodyTooLarge } from '../../errors.js';

const requestIdPattern = /^[\w.:-]{1,128}$/;
const json = 'application/json; charset=utf-8';
const always = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff'];

/** One request and its one answer, on the bare server: this is the way of most calls, and a framework doubles its price. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The pattern of the address. */
  readonly route: string;
  readonly startedMs: number;
  keyId: string | undefined;
  /** What went wrong inside, for the log. */
  failure: unknown;
  /** What to do when the client goes away before it was answered. */
  onLeft: (() => void) | undefined;
  #isClosing: boolean;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    about: { readonly route: string; readonly startedMs: number; readonly isClosing: boolean },
  ) {
    this.request = request;
    this.response = response;
    this.route = about.route;
    this.startedMs = about.startedMs;
    this.#isClosing = about.isClosing;
    const given = request.headers['x-request-id'];
    this.requestId = typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
  }

  get isAnswered(): boolean {
    return this.response.headersSent || this.response.destroyed;
  }

  /** Answers with JSON text. `headers` are names and values in turn. */
  answer(status: number, text: string, headers: readonly string[] = []): void {
    this.answerAs(status, text, json, headers);
  }

  answerAs(status: number, body: string | Buffer, contentType: string, headers: readonly string[] = []): void {
    if (this.isAnswered) return;
    const hasBody = status !== 204 && status !== 304;
    const all = ['x-request-id', this.requestId, ...always];
    if (hasBody) all.push('content-type', contentType, 'content-length', String(Buffer.byteLength(body)));
    if (this.#isClosing) all.push('connection', 'close');
    all.push(...headers);
    this.response.writeHead(status, all);
    this.response.end(hasBody ? body : undefined);
  }

  /** Refuses in the one shape of all errors. */
  refuse(error: unknown, headers: readonly string[] = []): void {
    const { status, body } = toErrorBody(error, this.requestId);
    if (status >= 500) this.failure = error;
    const more = [...headers];
    if (status === 401) more.push('www-authenticate', 'Bearer');
    if (isCodedError(error) && error.retryable && !headers.includes('retry-after')) more.push('retry-after', '1');
    // A body that nobody reads would stand in the way of the next request.
    if (!this.request.complete) this.request.resume();
    this.answer(status, JSON.stringify(body), more);
  }

  /** The whole body; nothing when it is too large or breaks off, which is answered here. */
  readBody(limitBytes: number, take: (body: Buffer) => void): void {
    const { request } = this;
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > limitBytes) return this.#refuseBody(limitBytes);
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limitBytes) {
        if (bytes - chunk.length <= limitBytes) this.#refuseBody(limitBytes);
        return;
      }
      if (!first) first = chunk;
      else (chunks ??= [first]).push(chunk);
    });
    request.on('end', () => {
      if (bytes <= limitBytes) take(chunks ? Buffer.concat(chunks, bytes) : (first ?? empty));
    });
    request.on('error', ignore); // the client is gone; there is nobody to tell
  }

  /** What is still to come is not worth reading: the connection ends with the answer. */
  #refuseBody(limitBytes: number): void {
    this.#isClosing = true;
    this.refuse(bodyTooLarge({ limitBytes }));
  }
}

const empty = Buffer.alloc(0);

function ignore(): void {}
