import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TraceContext } from '@drover/service-kit';
import type { ByteBudget } from './byte-budget.js';
import type { Connection } from './open-connections.js';
import type { RequestTarget } from '../routes/request-target.js';

/** As much of an exchange as it takes to pass a request on: a call that came in another way can have it, too. */
export interface PassedExchange {
  readonly method: string;
  readonly request: NodeJS.ReadableStream & Pick<IncomingMessage, 'url' | 'headers' | 'socket'>;
  readonly response: NodeJS.WritableStream & {
    readonly destroyed: boolean;
    readonly writableFinished: boolean;
    writeHead(status: number, headers: string[]): unknown;
    flushHeaders(): void;
    destroy(): unknown;
  };
  readonly extraHeaders: readonly string[];
  readonly signal: AbortSignal;
}

/** One request and its answer, and what becomes known about them on the way. */
export class Exchange implements PassedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedMs: number;
  readonly method: string;
  target: RequestTarget = { path: '/', query: '' };
  /** For observations. */
  application = 'none';
  functionName = 'none';
  trace: TraceContext | undefined;
  /** Added to whatever is answered: names and values in turn. */
  extraHeaders: readonly string[] = [];
  readonly #connection: Connection;
  #held = 0;
  #budget: ByteBudget | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, connection: Connection, startedMs: number) {
    this.request = request;
    this.response = response;
    this.startedMs = startedMs;
    this.method = request.method ?? 'GET';
    this.#connection = connection;
  }

  /** Aborts when nobody waits for the answer any more. */
  get signal(): AbortSignal {
    return this.#connection.signal;
  }

  /** The caller cannot hear us any more. */
  get isOver(): boolean {
    return this.response.destroyed || this.response.writableEnded;
  }

  /** Keeps a piece of its body in memory; false when there is no room for it. */
  hold(bytes: number, budget: ByteBudget): boolean {
    if (!budget.take(bytes)) return false;
    this.#budget = budget;
    this.#held += bytes;
    return true;
  }

  /** It has been answered, or never will be. */
  end(): void {
    this.#budget?.giveBack(this.#held);
    this.#connection.release();
  }
}
