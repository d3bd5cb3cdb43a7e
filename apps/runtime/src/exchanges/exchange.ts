import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { AnswerSink } from '@drover/http-edge';
import type { TraceContext } from '@drover/service-kit';
import type { ByteBudget } from './byte-budget.js';
import type { RequestTarget } from '../routes/request-target.js';
import type { BodyLimits, ReceivedRequest, FunctionsWire } from './functions-wire.js';

/** The part of an exchange that the stream proxy needs; calls of the control plane implement it too. */
export interface PassedExchange {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string | undefined;
  /** The body as it arrives; undefined if it was received with the head. */
  readonly body: Readable | undefined;
  readonly sink: AnswerSink;
  /** Added to the answer; names and values alternate. */
  readonly extraHeaders: readonly string[];
  readonly signal: AbortSignal;
}

/** One request and its answer, with the facts that observations need. */
export class Exchange implements PassedExchange {
  readonly wire: FunctionsWire;
  readonly request: ReceivedRequest;
  readonly startedMs: number;
  readonly method: string;
  target: RequestTarget = { path: '/', query: '' };
  /** For observations. */
  application = 'none';
  functionName = 'none';
  trace: TraceContext | undefined;
  extraHeaders: readonly string[] = [];
  #sink: AnswerSink | undefined;
  #held = 0;
  #budget: ByteBudget | undefined;

  constructor(wire: FunctionsWire, startedMs: number) {
    this.wire = wire;
    this.request = wire.request;
    this.startedMs = startedMs;
    this.method = wire.request.method ?? 'GET';
  }

  /** Aborts when the client closes the connection. */
  get signal(): AbortSignal {
    return this.wire.signal;
  }

  /** Nothing that is written now reaches the client. */
  get isOver(): boolean {
    return this.wire.isOver;
  }

  get url(): string {
    return this.request.url ?? '/';
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  get remoteAddress(): string | undefined {
    return this.request.socket.remoteAddress;
  }

  get body(): Readable | undefined {
    return this.wire.body;
  }

  get sink(): AnswerSink {
    return (this.#sink ??= this.wire.sink());
  }

  /** Reads the whole body, which counts against the budget until the exchange ends. */
  readBody(limits: BodyLimits, limitBytes = Math.min(limits.bytes, limits.bufferedBytes)): Buffer | Promise<Buffer> {
    return this.wire.readBody(limits, limitBytes, (bytes) => this.#hold(bytes, limits.budget));
  }

  /** The request was answered, or its client left. */
  end(): void {
    this.#budget?.release(this.#held);
  }

  #hold(bytes: number, budget: ByteBudget): boolean {
    if (!budget.acquire(bytes)) return false;
    this.#budget = budget;
    this.#held += bytes;
    return true;
  }
}
