import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isForFunctions, type CodedError } from '@drover/contracts';
import {
  ConnectionPool,
  FastLaneSink,
  forwardedChanges,
  forwardFastLane,
  forwardStream,
  ProxiedRequest,
  requestIdOf,
  ResponseSink,
  toErrorAnswer,
  type AnswerSink,
  type ConnectionChannel,
  type FastLaneExchange,
  type FastLaneRequest,
  type ForwardedRequest,
  type MissKind,
} from '@drover/http-edge';
import type { Clock, Lifecycle, Randomness } from '@drover/service-kit';
import { noFunctions, runtimeBroke, runtimeUnreachable } from '../errors.js';

export interface FunctionProxyOptions {
  /** The runtime's HTTP address, or the file that will hold it; neither if no runtime is configured. */
  readonly runtimeUrl: string | undefined;
  readonly runtimeUrlFile?: string | undefined;
  /** Passes kept-alive connections to the runtime, if it runs on this machine and under the same parent. */
  readonly connections?: ConnectionChannel | undefined;
  readonly maxConnections?: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

const defaultMaxConnections = 1_024;
const connectTimeoutMs = 5_000;

/** Writes an error answer on the connection that the request came on. */
type Refuse = (error: CodedError) => void;

/**
 * Proxies requests for functions to the runtime, from the fast lane and from Node's server. A request without a body that
 * meets a kept connection which the runtime has just closed is sent once more, on a new connection; a request that the
 * runtime may have begun with is never repeated.
 */
export class FunctionProxy implements Lifecycle {
  readonly name = 'function proxy';
  readonly #options: FunctionProxyOptions;
  #pool: ConnectionPool | undefined;

  constructor(options: FunctionProxyOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    await this.#pool?.close();
  }

  /** Proxies a request of Node's server. Returns false if it is not for a function. */
  readonly serve = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.url === undefined || !isForFunctions(request.url)) return false;
    const refuse: Refuse = (error) => {
      const { status, headers, body } = this.#errorAnswer(error, request.headers);
      response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(body))]);
      response.end(body);
    };
    const pool = this.#findPool(refuse);
    if (!pool) return true;
    const changes = forwardedChanges(request.socket.remoteAddress, request.headers.host);
    this.#send(pool, forwardStream(request, changes), new ResponseSink(response), refuse);
    return true;
  };

  /** Proxies a request of the fast lane. Returns false if it is not for a function. */
  readonly serveFastLane = (request: FastLaneRequest, exchange: FastLaneExchange): boolean => {
    if (!isForFunctions(request.url)) return false;
    if (exchange.answeredBefore > 0 && this.#passConnection(exchange)) return true;
    const refuse: Refuse = (error) => {
      const { status, headers, body } = this.#errorAnswer(error, request.headers);
      exchange.answer(status, headers, body);
    };
    const pool = this.#findPool(refuse);
    if (!pool) return true;
    const changes = forwardedChanges(exchange.remoteAddress, request.headers['host']);
    this.#send(pool, forwardFastLane(request, changes), new FastLaneSink(exchange), refuse);
    return true;
  };

  /** Passes the connection to the runtime, which then serves its requests without a hop. Returns false if it stays here. */
  #passConnection(exchange: FastLaneExchange): boolean {
    const { connections } = this.#options;
    const passed = connections?.isOpen ? exchange.detach() : undefined;
    if (passed) connections?.pass(passed);
    return passed !== undefined;
  }

  #send(pool: ConnectionPool, request: ForwardedRequest, sink: AnswerSink, refuse: Refuse, isSecond = false): void {
    const onMissed = (miss: MissKind, error: Error): void => {
      if (miss === 'stale' && request.body === undefined && !isSecond)
        return this.#send(pool, request, sink, refuse, true);
      refuse(this.#explain(pool, miss, error));
    };
    new ProxiedRequest({ pool, request, sink, onMissed, isOnNewConnection: isSecond }).start();
  }

  #explain(pool: ConnectionPool, miss: MissKind, error: Error): CodedError {
    if (miss !== 'unsent') return runtimeBroke({ reason: error.message });
    // A runtime that was started again may listen elsewhere: the file is read again for the next request.
    if (this.#options.runtimeUrlFile !== undefined && this.#pool === pool) {
      this.#pool = undefined;
      pool.retire();
    }
    return runtimeUnreachable({ reason: 'it does not listen' });
  }

  #findPool(refuse: Refuse): ConnectionPool | undefined {
    if (this.#pool) return this.#pool;
    const { runtimeUrl, runtimeUrlFile } = this.#options;
    const url = runtimeUrl === undefined ? this.#readFile() : new URL(runtimeUrl);
    if (url) return (this.#pool = this.#openPool(url));
    refuse(runtimeUrlFile === undefined ? noFunctions({}) : runtimeUnreachable({ reason: 'it is starting' }));
    return undefined;
  }

  #openPool(url: URL): ConnectionPool {
    const { clock, maxConnections = defaultMaxConnections } = this.#options;
    return new ConnectionPool({ url, maxConnections, connectTimeoutMs, clock });
  }

  #readFile(): URL | undefined {
    const { runtimeUrlFile } = this.#options;
    if (runtimeUrlFile === undefined) return undefined;
    try {
      return new URL(readFileSync(runtimeUrlFile, 'utf8').trim());
    } catch {
      return undefined; // not written yet
    }
  }

  #errorAnswer(error: CodedError, headers: IncomingMessage['headers']): ReturnType<typeof toErrorAnswer> {
    return toErrorAnswer(error, requestIdOf(headers, this.#options.randomness));
  }
}
