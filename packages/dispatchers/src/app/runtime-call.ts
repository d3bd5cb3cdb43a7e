import type {
  Answer,
  AnswerReceiver,
  ClientConnection,
  ClientRequest,
  ConnectionPool,
  ConnectionUser,
  FramedConnection,
} from '@drover/http-edge';

/** How a call ended without an answer. */
export interface RuntimeCallFailure {
  readonly error: unknown;
  /** The request may have reached the runtime. */
  readonly wasSent: boolean;
}

/**
 * One call of the runtime. Ends once: with an answer, with a failure, or because it was given up. Goes over the connection that
 * calls share if that can take it, else over one of the pool.
 */
export class RuntimeCall implements AnswerReceiver, ConnectionUser {
  readonly #pool: ConnectionPool;
  readonly #request: ClientRequest;
  readonly #end: (end: Answer | RuntimeCallFailure) => void;
  /** Carries the call with this id; 0 if a connection of the pool does, or will. */
  #shared: FramedConnection | undefined;
  #id = 0;
  #connection: ClientConnection | undefined;
  #isOver = false;

  constructor(pool: ConnectionPool, request: ClientRequest, end: (end: Answer | RuntimeCallFailure) => void) {
    this.#pool = pool;
    this.#request = request;
    this.#end = end;
  }

  start(shared: FramedConnection | undefined): void {
    this.#shared = shared;
    this.#id = shared?.send(this.#request, this) ?? 0;
    if (this.#id === 0) this.#pool.acquire(this);
  }

  /** Cancels the call, or closes its connection: that is how the runtime learns that the call was given up. */
  abandon(): void {
    if (this.#isOver) return;
    const wasSent = this.#wasSent;
    this.#isOver = true;
    if (this.#id !== 0) this.#shared?.cancel(this.#id);
    else if (this.#connection) this.#pool.discard(this.#connection);
    else this.#pool.cancel(this);
    this.#end({ error: abandoned, wasSent });
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
    const wasSent = this.#wasSent;
    if (this.#connection) this.#pool.discard(this.#connection);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end({ error, wasSent });
  }

  /** A shared connection takes calls only once it is open. */
  get #wasSent(): boolean {
    return this.#id !== 0 || this.#connection?.isConnected === true;
  }
}

/** Shared: its stack would be of no use. */
const abandoned = new Error('The call was given up.');
