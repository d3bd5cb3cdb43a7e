import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
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
import { HeldRequests } from './held-requests.js';

export interface FunctionProxyOptions {
  /** The runtime's HTTP address, or the file that will hold it; neither if no runtime is configured. */
  readonly runtimeUrl: string | undefined;
  readonly runtimeUrlFile?: string | undefined;
  /** Passes kept-alive connections to the runtime, if it runs on this machine and under the same parent. */
  readonly connections?: ConnectionChannel | undefined;
  readonly maxConnections?: number;
  /** How long a request waits while no runtime accepts connections, and how many may. */
  readonly holdMs: number;
  readonly maxHeldRequests: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

const defaultMaxConnections = 1_024;
const connectTimeoutMs = 5_000;

/** A request on its way to the runtime. */
interface ProxiedCall {
  readonly request: ForwardedRequest;
  readonly sink: AnswerSink;
  /** Writes an error answer on the connection that the request came on. */
  readonly refuse: (error: CodedError) => void;
  /** Until when it may wait for a runtime; undefined if it has not waited. */
  heldUntilMs: number | undefined;
}

/**
 * Proxies requests for functions to the runtime, from the fast lane and from Node's server.
 *
 * - A request of which the runtime has seen nothing is held while no runtime accepts connections, up to a limit of time and number.
 * - A request without a body that meets a kept connection which the runtime has just closed is sent once more, on a new connection.
 * - A request that the runtime may have begun with is never repeated.
 */
export class FunctionProxy implements Lifecycle {
  readonly name = 'function proxy';
  readonly #options: FunctionProxyOptions;
  readonly #held: HeldRequests;
  #pool: ConnectionPool | undefined;

  constructor(options: FunctionProxyOptions) {
    this.#options = options;
    const { clock, maxHeldRequests: maxRequests } = options;
    this.#held = new HeldRequests({ maxRequests, clock, probe: () => this.#probe() });
  }

  async start(): Promise<void> {}

  /** Answers the requests that wait for a runtime: their clients find another gateway. */
  async drain(): Promise<void> {
    this.#held.close();
  }

  async stop(): Promise<void> {
    this.#held.close();
    await this.#pool?.close();
  }

  /** Proxies a request of Node's server. Returns false if it is not for a function. */
  readonly serve = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.url === undefined || !isForFunctions(request.url)) return false;
    const changes = forwardedChanges(request.socket.remoteAddress, request.headers.host);
    this.#begin({
      request: forwardStream(request, changes),
      sink: new ResponseSink(response),
      refuse: (error) => {
        const { status, headers, body } = this.#errorAnswer(error, request.headers);
        response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(body))]);
        response.end(body);
      },
      heldUntilMs: undefined,
    });
    return true;
  };

  /** Proxies a request of the fast lane. Returns false if it is not for a function. */
  readonly serveFastLane = (request: FastLaneRequest, exchange: FastLaneExchange): boolean => {
    if (!isForFunctions(request.url)) return false;
    if (exchange.answeredBefore > 0 && this.#passConnection(exchange)) return true;
    const changes = forwardedChanges(exchange.remoteAddress, request.headers['host']);
    this.#begin({
      request: forwardFastLane(request, changes),
      sink: new FastLaneSink(exchange),
      refuse: (error) => {
        const { status, headers, body } = this.#errorAnswer(error, request.headers);
        exchange.answer(status, headers, body);
      },
      heldUntilMs: undefined,
    });
    return true;
  };

  /** Passes the connection to the runtime, which then serves its requests without a hop. Returns false if it stays here. */
  #passConnection(exchange: FastLaneExchange): boolean {
    const { connections } = this.#options;
    const passed = connections?.isOpen ? exchange.detach() : undefined;
    if (passed) connections?.pass(passed);
    return passed !== undefined;
  }

  #begin(call: ProxiedCall): void {
    const { runtimeUrl, runtimeUrlFile } = this.#options;
    const pool = this.#findPool();
    if (pool) this.#send(pool, call);
    else if (runtimeUrl === undefined && runtimeUrlFile === undefined) call.refuse(noFunctions({}));
    else this.#hold(call, 'it is starting');
  }

  #send(pool: ConnectionPool, call: ProxiedCall, isSecond = false): void {
    const { request, sink, refuse } = call;
    const onMissed = (miss: MissKind, error: Error): void => {
      if (miss === 'stale' && request.body === undefined && !isSecond) return this.#send(pool, call, true);
      // The runtime that closed the first connection may have begun with the request: it does not wait for the next runtime.
      if (miss !== 'unsent' || isSecond) return refuse(runtimeBroke({ reason: error.message }));
      this.#leavePool(pool);
      this.#hold(call, 'it does not listen');
    };
    new ProxiedRequest({ pool, request, sink, onMissed, isOnNewConnection: isSecond }).start();
  }

  /** Lets a request wait that no runtime has seen; refuses it when its time is over or too many wait. */
  #hold(call: ProxiedCall, why: string): void {
    const { clock, holdMs } = this.#options;
    const { sink, refuse } = call;
    if (sink.isOver) return;
    const untilMs = (call.heldUntilMs ??= clock.monotonicMs() + holdMs);
    const cancel = this.#held.hold({
      untilMs,
      resume: () => {
        sink.onLeft = undefined;
        this.#begin(call);
      },
      giveUp: () => {
        sink.onLeft = undefined;
        refuse(runtimeUnreachable({ reason: why }));
      },
    });
    if (cancel) sink.onLeft = cancel;
    else refuse(runtimeUnreachable({ reason: why }));
  }

  /** A runtime that was started again may listen elsewhere: the file is read again for the next request. */
  #leavePool(pool: ConnectionPool): void {
    if (this.#options.runtimeUrlFile === undefined || this.#pool !== pool) return;
    this.#pool = undefined;
    pool.retire();
  }

  /** Whether a runtime accepts connections at the address that is known now. */
  #probe(): Promise<boolean> {
    const url = this.#findUrl();
    if (!url) return Promise.resolve(false);
    return new Promise((resolve) => {
      const socket = connect({
        host: url.hostname.replaceAll(/^\[|\]$/g, ''),
        port: Number(url.port || defaultPort(url)),
      });
      const end = (isThere: boolean): void => {
        cancel();
        socket.destroy();
        resolve(isThere);
      };
      const cancel = this.#options.clock.after(connectTimeoutMs, () => end(false));
      socket.once('connect', () => end(true)).once('error', () => end(false));
    });
  }

  #findPool(): ConnectionPool | undefined {
    if (this.#pool) return this.#pool;
    const url = this.#findUrl();
    return url && (this.#pool = this.#openPool(url));
  }

  #findUrl(): URL | undefined {
    const { runtimeUrl } = this.#options;
    return runtimeUrl === undefined ? this.#readFile() : new URL(runtimeUrl);
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

function defaultPort({ protocol }: URL): number {
  return protocol === 'https:' ? 443 : 80;
}
