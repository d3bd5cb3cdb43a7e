import { randomUUID } from 'node:crypto';
import { isCodedError, toErrorBody } from '@drover/contracts';
import { bodyTooLarge } from '../../errors.js';
import type { EdgeRequest, Wire } from './wire.js';

const requestIdPattern = /^[\w.:-]{1,128}$/;
const json = 'application/json; charset=utf-8';

/** One request and its one answer, without a framework: this is the way of most calls, and one would double their price. */
export class Exchange {
  readonly wire: Wire;
  readonly request: EdgeRequest;
  readonly requestId: string;
  /** The pattern of the address. */
  readonly route: string;
  readonly startedMs: number;
  keyId: string | undefined;
  /** What went wrong inside, for the log. */
  failure: unknown;
  /** What to do when the client goes away before it was answered. */
  onLeft: (() => void) | undefined;
  #isLast: boolean;

  constructor(wire: Wire, about: { readonly route: string; readonly startedMs: number; readonly isClosing: boolean }) {
    this.wire = wire;
    this.request = wire.request;
    this.route = about.route;
    this.startedMs = about.startedMs;
    this.#isLast = about.isClosing;
    const given = this.request.headers['x-request-id'];
    this.requestId = typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
  }

  get isAnswered(): boolean {
    return this.wire.isOver;
  }

  /** Answers with JSON text. `headers` are names and values in turn. */
  answer(status: number, text: string, headers: readonly string[] = []): void {
    this.answerAs(status, text, json, headers);
  }

  answerAs(status: number, body: string | Buffer, contentType: string, headers: readonly string[] = []): void {
    if (this.isAnswered) return;
    const hasBody = status !== 204 && status !== 304;
    const all = ['x-request-id', this.requestId, 'cache-control', 'no-store', 'x-content-type-options', 'nosniff'];
    if (hasBody) all.push('content-type', contentType);
    all.push(...headers);
    this.wire.answer(status, all, hasBody ? body : undefined, this.#isLast);
  }

  /** Refuses in the one shape of all errors. */
  refuse(error: unknown, headers: readonly string[] = []): void {
    const { status, body } = toErrorBody(error, this.requestId);
    if (status >= 500) this.failure = error;
    const more = [...headers];
    if (status === 401) more.push('www-authenticate', 'Bearer');
    if (isCodedError(error) && error.retryable && !headers.includes('retry-after')) more.push('retry-after', '1');
    this.wire.discardBody();
    this.answer(status, JSON.stringify(body), more);
  }

  /** The whole body; nothing when it is too large or breaks off, which is answered here. */
  readBody(limitBytes: number, take: (body: Buffer) => void): void {
    this.wire.readBody(limitBytes, take, () => {
      // What is still to come is not worth reading: the connection ends with the answer.
      this.#isLast = true;
      this.refuse(bodyTooLarge({ limitBytes }));
    });
  }
}
