import type { PassedConnection } from '../../handoff/connection-channel.js';

/** The head of another server's answer, ready to be sent on. */
export interface AnswerHeadText {
  readonly status: number;
  /** Status line and header lines, each with its line end, without those about the connection and without the empty line. */
  readonly text: string;
  /** Whether a `date` line is among them. */
  readonly hasDate: boolean;
}

/** What an exchange needs of its connection. Every call is about the request in hand. */
export interface ExchangeConnection {
  readonly remoteAddress: string | undefined;
  readonly signal: AbortSignal;
  /** Requests that were answered on this connection before. */
  readonly answered: number;
  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast: boolean): void;
  passAnswer(head: AnswerHeadText, body: Buffer | undefined): void;
  begin(head: AnswerHeadText, isChunked: boolean): void;
  write(bytes: Buffer): boolean;
  end(): void;
  handOver(): void;
  detach(): PassedConnection | undefined;
  /** Breaks the answer off, so that the client cannot take a part for the whole. */
  destroy(): void;
}

/**
 * One request on the fast lane and its answer. The answer is written in one of two ways:
 *
 * - whole: `answer` or `passAnswer`
 * - streamed: `begin`, any number of `write`, then `end`
 *
 * Calls after the end of the exchange do nothing: the client has its answer, or has closed the connection.
 */
export class FastLaneExchange {
  readonly #connection: ExchangeConnection;
  #isOver = false;
  #hasBegun = false;
  #status = 0;
  /** Called once: with true when the answer is complete, with false when the connection was closed before. */
  onEnd: ((isComplete: boolean, status: number) => void) | undefined;
  /** Called once if the client closes the connection before its answer is complete. */
  onLeft: (() => void) | undefined;
  /** Called when a streamed answer may go on after `write` returned false. */
  onDrain: (() => void) | undefined;

  constructor(connection: ExchangeConnection) {
    this.#connection = connection;
  }

  /** Nothing that is written now reaches the client. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** A streamed answer has begun: no other can be written any more. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The client's address, as far as the system still knows it. */
  get remoteAddress(): string | undefined {
    return this.#connection.remoteAddress;
  }

  /** Aborts when the connection closes. One signal for all requests of a connection: a new one costs a tenth of a request. */
  get signal(): AbortSignal {
    return this.#connection.signal;
  }

  /** Writes a whole answer. `headers` are names and values in turn; no body where the status allows none. `isLast` closes the connection. */
  answer(status: number, headers: readonly string[], body: string | Buffer | undefined, isLast = false): void {
    if (this.#isOver) return;
    this.#connection.answer(status, headers, body, isLast);
    this.#isOver = true;
    this.onEnd?.(true, status);
  }

  /** Writes a whole answer of another server. The head must be complete apart from the lines about the connection. */
  passAnswer(head: AnswerHeadText, body: Buffer | undefined): void {
    if (this.#isOver) return;
    this.#connection.passAnswer(head, body);
    this.#isOver = true;
    this.onEnd?.(true, head.status);
  }

  /** Begins a streamed answer. Without a length among its headers the body is sent in chunks. */
  begin(head: AnswerHeadText, isChunked: boolean): void {
    if (this.#isOver) return;
    this.#hasBegun = true;
    this.#status = head.status;
    this.#connection.begin(head, isChunked);
  }

  /** Writes a part of a streamed answer. Returns false if the caller should wait for `onDrain`. */
  write(bytes: Buffer): boolean {
    return this.#isOver || this.#connection.write(bytes);
  }

  /** Ends a streamed answer. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection.end();
    this.onEnd?.(true, this.#status);
  }

  /** Closes the connection in the middle of an answer, so that the client cannot take a part for the whole. */
  destroy(): void {
    if (!this.#isOver) {
      this.#isOver = true;
      this.onEnd?.(false, this.#status);
    }
    this.#connection.destroy();
  }

  /** Hands the connection to Node's server, which parses the request again. Only before anything was answered. */
  handOver(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection.handOver();
  }

  /** Requests that were answered on this connection before: a client that sends a second one keeps its connection. */
  get answeredBefore(): number {
    return this.#connection.answered;
  }

  /**
   * Takes the connection out of this process, for another one. The request in hand goes with it, unread.
   * Undefined if the connection has to stay; only before anything was answered.
   */
  detach(): PassedConnection | undefined {
    if (this.#isOver) return undefined;
    const passed = this.#connection.detach();
    if (passed) this.#isOver = true;
    return passed;
  }

  /** The connection is closed. */
  closed(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onLeft?.();
    this.onEnd?.(false, this.#status);
  }
}
