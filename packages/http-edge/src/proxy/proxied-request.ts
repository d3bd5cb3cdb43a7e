import type { Answer, AnswerBegin } from '../client/answer-reader.js';
import type { AnswerReceiver, ClientConnection } from '../client/client-connection.js';
import type { ForwardedRequest } from '../client/client-request.js';
import type { ConnectionPool, ConnectionUser } from '../client/connection-pool.js';
import type { AnswerSink } from './answer-sink.js';
import { endToEndHeaders } from './hop-by-hop.js';

/**
 * Why a request got no answer.
 *
 * - unsent: there was no connection; the server has seen nothing of the request
 * - unread: the server, which is on this machine, went away before it had read the whole request
 * - stale: a kept connection was closed before any byte of the answer; the server has most likely not read the request
 * - unknown: the connection broke before any byte of the answer; how far the request got is not known
 * - refused: `accepts` did not want the answer
 */
export type MissKind = 'unsent' | 'unread' | 'stale' | 'unknown' | 'refused';

export interface ProxiedRequestOptions {
  readonly pool: ConnectionPool;
  readonly request: ForwardedRequest;
  readonly sink: AnswerSink;
  /** Called at most once, instead of an answer. The sink has not been written to. */
  readonly onMissed: (miss: MissKind, error: Error) => void;
  /** Called once when the sink has the whole answer (undefined), was broken off with it, or when the client left. */
  readonly onEnd?: (error: Error | undefined, hasLeft: boolean) => void;
  /** Called for bytes before the head of the answer, such as `100 Continue`. */
  readonly onHeard?: () => void;
  /** Returns false for an answer that is not to be passed on: its body is read and dropped, then `onMissed` is called. */
  readonly accepts?: (begin: AnswerBegin) => boolean;
  /** Returns the headers to pass on; those that are not about the connection unless given. */
  readonly answerHeaders?: (rawHeaders: readonly string[]) => readonly string[];
  /** Sends on a connection that has not been used before. */
  readonly isOnNewConnection?: boolean;
}

/**
 * Sends one request to another server and passes its answer back, with backpressure in both directions.
 *
 * - waiting: for a connection; the client leaving takes it out of the line
 * - sent: the client leaving closes the connection, which is how the server learns of it
 * - streaming: the answer has begun; a broken answer breaks the client's connection
 * - over: the answer is complete, missed or broken off
 *
 * Whether a missed request is sent again is for the caller to decide: it knows which requests may be repeated.
 */
export class ProxiedRequest implements AnswerReceiver, ConnectionUser {
  readonly #options: ProxiedRequestOptions;
  #connection: ClientConnection | undefined;
  #hasBegun = false;
  #isRefused = false;
  #isOver = false;

  constructor(options: ProxiedRequestOptions) {
    this.#options = options;
  }

  /** The client has seen the beginning of the answer: no other can be sent any more. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  start(): void {
    const { pool, sink, isOnNewConnection = false } = this.#options;
    sink.onLeft = () => {
      this.abort();
      this.#options.onEnd?.(new Error('The client left before its answer was complete.'), true);
    };
    if (isOnNewConnection) pool.acquireNew(this);
    else pool.acquire(this);
  }

  /** Gives the request up and closes its connection. Neither `onMissed` nor `onEnd` is called. */
  abort(): void {
    if (this.#isOver) return;
    this.#over();
    const { pool } = this.#options;
    if (this.#connection) pool.discard(this.#connection);
    else pool.cancel(this);
  }

  /** Gives the request up as missed, unless its answer has begun. */
  miss(error: Error): void {
    if (this.#isOver || this.#hasBegun) return;
    const isSent = this.#connection?.isConnected === true;
    this.abort();
    this.#options.onMissed(isSent ? 'unknown' : 'unsent', error);
  }

  use(connection: ClientConnection): void {
    this.#connection = connection;
    connection.send(this.#options.request, this);
  }

  received(begin: AnswerBegin, bytes: Buffer | undefined): boolean {
    if (this.#isOver) return true;
    const { sink, accepts } = this.#options;
    if (!this.#hasBegun && !this.#isRefused) {
      this.#isRefused = accepts?.(begin) === false;
      if (!this.#isRefused) this.#begin(begin);
    }
    if (this.#isRefused || bytes === undefined) return true;
    return sink.write(bytes);
  }

  heard(): void {
    this.#options.onHeard?.();
  }

  answered(answer: Answer): void {
    const { pool, sink, accepts } = this.#options;
    const connection = this.#connection;
    if (connection) pool.release(connection);
    if (this.#isOver) return;
    this.#over();
    if (this.#hasBegun) {
      if (answer.body) sink.write(answer.body);
      sink.end();
    } else if (this.#isRefused || accepts?.(answer) === false) {
      return this.#options.onMissed('refused', new Error('The server did not accept the request.'));
    } else {
      this.#hasBegun = true;
      sink.answer(answer, this.#headersOf(answer), answer.body);
    }
    this.#options.onEnd?.(undefined, false);
  }

  failed(cause: unknown): void {
    const { pool, sink, onMissed, onEnd } = this.#options;
    const connection = this.#connection;
    const isSent = connection?.isConnected === true;
    const hasAnswer = connection?.begin !== undefined;
    if (connection) pool.discard(connection);
    if (this.#isOver) return;
    this.#over();
    const error = cause instanceof Error ? cause : new Error(String(cause));
    if (this.#hasBegun) {
      sink.destroy();
      onEnd?.(error, false);
    } else if (!isSent) onMissed('unsent', error);
    else if (!hasAnswer && connection.wasUnread(error)) onMissed('unread', error);
    else onMissed(connection.isReused && !hasAnswer && isClosed(error) ? 'stale' : 'unknown', error);
  }

  #begin(begin: AnswerBegin): void {
    const { sink } = this.#options;
    this.#hasBegun = true;
    sink.onDrain = () => this.#connection?.resume();
    sink.begin(begin, this.#headersOf(begin));
  }

  #headersOf({ headers }: AnswerBegin): readonly string[] {
    return (this.#options.answerHeaders ?? endToEndHeaders)(headers);
  }

  #over(): void {
    this.#isOver = true;
    this.#options.sink.onLeft = undefined;
  }
}

/** The other side closed the connection, as it may at the same moment as a request is sent. */
function isClosed(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE' || error.code === 'CONNECTION_LOST');
}
