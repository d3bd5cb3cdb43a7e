import type {
  Answer,
  AnswerReceiver,
  ClientConnection,
  ClientRequest,
  ConnectionPool,
  ConnectionUser,
} from '@drover/http-edge';

/** How a call ended without an answer. */
export interface RuntimeCallFailure {
  readonly error: unknown;
  /** The request may have reached the runtime. */
  readonly wasSent: boolean;
}

/** One call of the runtime. Ends once: with an answer, with a failure, or because it was given up. */
export class RuntimeCall implements AnswerReceiver, ConnectionUser {
  readonly #pool: ConnectionPool;
  readonly #request: ClientRequest;
  readonly #end: (end: Answer | RuntimeCallFailure) => void;
  #connection: ClientConnection | undefined;
  #isOver = false;

  constructor(pool: ConnectionPool, request: ClientRequest, end: (end: Answer | RuntimeCallFailure) => void) {
    this.#pool = pool;
    this.#request = request;
    this.#end = end;
  }

  start(): void {
    this.#pool.acquire(this);
  }

  /** Closes the connection, which is how the runtime learns that the call was given up. */
  abandon(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#connection) this.#pool.discard(this.#connection);
    else this.#pool.cancel(this);
    this.#end({ error: abandoned, wasSent: this.#connection?.isConnected === true });
  }

  use(connection: ClientConnection): void {
    this.#connection = connection;
    connection.send(this.#request, this);
  }

  answered(answer: Answer): void {
    if (this.#connection) this.#pool.release(this.#connection);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end(answer);
  }

  failed(error: unknown): void {
    const wasSent = this.#connection?.isConnected === true;
    if (this.#connection) this.#pool.discard(this.#connection);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end({ error, wasSent });
  }
}

/** Shared: its stack would be of no use. */
const abandoned = new Error('The call was given up.');
