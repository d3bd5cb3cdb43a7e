import { randomUUID } from 'node:crypto';
import { bodyTooLarge, requestIdOf, toErrorAnswer, type EdgeRequest, type Wire } from '@drover/http-edge';

const ids = { uuid: randomUUID };
const json = 'application/json; charset=utf-8';

/** One request and its answer. Without a framework, which would double the cost of a call. */
export class Exchange {
  readonly wire: Wire;
  readonly request: EdgeRequest;
  readonly requestId: string;
  /** The pattern of the path. */
  readonly route: string;
  readonly startedMs: number;
  keyId: string | undefined;
  /** An internal failure, for the log. */
  failure: unknown;
  /** Called if the client leaves before its answer is complete. */
  onLeft: (() => void) | undefined;
  readonly #isLast: boolean;

  constructor(wire: Wire, about: { readonly route: string; readonly startedMs: number; readonly isClosing: boolean }) {
    this.wire = wire;
    this.request = wire.request;
    this.route = about.route;
    this.startedMs = about.startedMs;
    this.#isLast = about.isClosing;
    this.requestId = requestIdOf(this.request.headers, ids);
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

  /** Runs `action`; an error that it throws becomes the response. */
  guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.refuse(error);
    }
  }

  /** Answers with an error, in the shape of all errors. `headers` are names in lower case and values in turn. */
  refuse(error: unknown, headers: readonly string[] = []): void {
    if (this.isAnswered) return;
    const answer = toErrorAnswer(error, this.requestId, { headers });
    if (answer.status >= 500) this.failure = error;
    if (answer.status === 401) answer.headers.push('www-authenticate', 'Bearer');
    this.wire.discardBody();
    this.wire.answer(answer.status, answer.headers, answer.body, this.#isLast);
  }

  /** Calls `use` with the whole body. Answers itself if the body is too large; does neither if it breaks off. */
  readBody(limitBytes: number, use: (body: Buffer) => void): void {
    // The rest of the body is read and dropped: closing the connection would reset it while the client is sending, and most
    // clients then lose the answer.
    this.wire.readBody(limitBytes, use, () => this.refuse(bodyTooLarge({ limitBytes })));
  }
}
