import { lookup } from 'node:dns/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { FastLane, requestIdOf } from '@drover/http-edge';
import type { Clock, Lifecycle, Randomness } from '@drover/service-kit';
import type { InvocationAssignment } from '../invocations/invocation-call.js';
import { ByteBudget } from '../exchanges/byte-budget.js';
import { dispatch, type DispatchOptions } from './dispatch.js';
import { functionsPortUnusable } from '../exchanges/errors.js';
import { Exchange } from '../exchanges/exchange.js';
import type { HealthSource } from './health.js';
import type { HttpApplications } from '../routes/http-application.js';
import { shippedLimits, type HttpLimits } from './http-limits.js';
import type { HttpObserve } from '../exchanges/http-observations.js';
import { HttpStreamProxy } from '../exchanges/http-stream-proxy.js';
import { OpenConnections } from '../exchanges/open-connections.js';
import { FunctionsFastLaneWire } from '../exchanges/functions-fast-lane-wire.js';
import { FunctionsNodeWire } from '../exchanges/functions-node-wire.js';
import type { FunctionsWire } from '../exchanges/functions-wire.js';
import { asRefused } from '../exchanges/outcome-refusal.js';
import { pooledRandomness } from './pooled-randomness.js';
import { answerUnreadable, toUnreadableError } from './unreadable-request.js';
import { writeError } from '../exchanges/write-answer.js';

export interface FunctionsHttpServerOptions {
  readonly host: string;
  readonly port: number;
  /** The shipped ones unless told otherwise. */
  readonly limits?: Partial<HttpLimits>;
  readonly applications: HttpApplications;
  /** Undefined: probes are answered elsewhere. */
  readonly health?: HealthSource | undefined;
  /** Whether `x-forwarded-proto` and `x-forwarded-host` are the word of a proxy of ours, or of anybody. */
  readonly trustsForwarded: boolean;
  /** Whether `x-ms-client-principal` is the word of a proxy of ours; otherwise it is taken away. */
  readonly trustsClientPrincipal: boolean;
  /** Where a worker may have its own server; only this machine unless told otherwise. */
  readonly mayStreamTo?: (httpUri: URL, assigned: InvocationAssignment) => boolean;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: HttpObserve;
}

/** What the fast lane accepts in one piece. */
const requestBytes = 65_536;

/** The port on which functions are called over HTTP, with the admin API of their applications and the process's health. */
export class FunctionsHttpServer implements Lifecycle {
  readonly name = 'functions http server';
  readonly #options: FunctionsHttpServerOptions;
  readonly #limits: HttpLimits;
  readonly #server: Server;
  readonly #connections: OpenConnections;
  readonly #lane: FastLane;
  readonly #proxy: HttpStreamProxy;
  readonly #dispatching: DispatchOptions;
  #closed: Promise<void> | undefined;

  constructor(options: FunctionsHttpServerOptions) {
    this.#options = options;
    this.#limits = { ...shippedLimits, ...options.limits };
    const { clock, randomness, trustsForwarded, trustsClientPrincipal } = options;
    const { streamIdleMs: idleMs, bodyBytes: bodyLimitBytes, bodyIdleMs, heldBodyBytes } = this.#limits;
    this.#proxy = new HttpStreamProxy({ clock, randomness, idleMs, bodyLimitBytes });
    this.#dispatching = {
      ...options,
      health: options.health,
      limits: this.#limits,
      isClosing: () => this.#closed !== undefined,
      serving: {
        clock,
        randomness: pooledRandomness(randomness),
        proxy: this.#proxy,
        bodies: { bytes: bodyLimitBytes, idleMs: bodyIdleMs, budget: new ByteBudget(heldBodyBytes) },
        trustsForwarded,
        trustsClientPrincipal,
        mayStreamTo: options.mayStreamTo ?? isThisMachine,
      },
    };
    this.#server = this.#createServer();
    this.#connections = new OpenConnections(this.#server);
    // Last: the listeners for connections that are there now get those that the lane hands over.
    this.#lane = new FastLane(this.#server, {
      limits: { ...this.#limits, requestBytes },
      clock,
      serve: (request, exchange) => {
        this.#serve(new FunctionsFastLaneWire(request, exchange));
        return true;
      },
    });
  }

  /** Where it listens; known once it has started. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo; // a TCP server that listens
    const { host } = this.#options;
    const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  }

  async start(): Promise<void> {
    const { host, port, observe } = this.#options;
    try {
      const { address } = await lookup(host);
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject);
        this.#server.listen({ host: address, port }, () => {
          this.#server.off('error', reject);
          resolve();
        });
      });
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      throw functionsPortUnusable({ host, port, reason }, error);
    }
    observe({ kind: 'http.listening', url: this.url });
  }

  /** Accepts nothing new, lets requests in flight finish, and cuts what is left at the deadline. */
  async drain(deadline: AbortSignal): Promise<void> {
    const closed = this.#close();
    const cut = (): void => this.#cut();
    deadline.addEventListener('abort', cut, { once: true });
    if (deadline.aborted) cut();
    await closed;
    deadline.removeEventListener('abort', cut);
  }

  async stop(): Promise<void> {
    const closed = this.#close();
    this.#cut();
    await closed;
    this.#proxy.close();
  }

  #cut(): void {
    this.#lane.cut();
    this.#server.closeAllConnections();
  }

  #close(): Promise<void> {
    this.#closed ??= new Promise<void>((resolve) => {
      if (!this.#server.listening) return resolve();
      this.#server.close(() => resolve());
      this.#lane.close();
      this.#connections.close();
    });
    return this.#closed;
  }

  #createServer(): Server {
    const limits = this.#limits;
    const server = createServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      requireHostHeader: false, // required all the same, with an answer of our shape
    });
    server.maxConnections = limits.connections;
    // Node drops what is above this number without a word: one more than allowed is how we notice.
    server.maxHeadersCount = limits.headers + 1;
    server.on('request', (request, response) => this.#accept(request, response));
    // An expectation nobody here knows may be ignored; Node's own refusal would have another shape.
    server.on('checkExpectation', (request, response) => this.#accept(request, response));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const { code = 'unknown' } = error;
      if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
      const refusal = toUnreadableError(code, limits);
      answerUnreadable(socket as Socket, refusal, this.#options.randomness.uuid()); // of a TCP server
      this.#options.observe({ kind: 'http.unreadable', status: refusal.status, reason: code });
    });
    return server;
  }

  #accept(request: IncomingMessage, response: ServerResponse): void {
    this.#serve(new FunctionsNodeWire(request, response, this.#connections.take(request.socket)));
  }

  #serve(wire: FunctionsWire): void {
    const exchange = new Exchange(wire, this.#options.clock.monotonicMs());
    wire.onEnd = (status) => this.#end(exchange, status);
    dispatch(exchange, this.#dispatching).catch((error: unknown) => this.#refuse(exchange, error));
  }

  #end(exchange: Exchange, status: number): void {
    const { clock, observe } = this.#options;
    exchange.end();
    observe({
      kind: 'http.request',
      application: exchange.application,
      function: exchange.functionName,
      method: exchange.method,
      status,
      durationMs: clock.monotonicMs() - exchange.startedMs,
      endedAt: clock.now(),
      trace: exchange.trace,
    });
  }

  #refuse(exchange: Exchange, error: unknown): void {
    const refused = asRefused(error);
    const requestId = refused?.requestId ?? requestIdOf(exchange.headers, this.#options.randomness);
    if ((refused?.error.status ?? 500) >= 500 && !exchange.isOver) {
      const { application, functionName } = exchange;
      const cause = refused?.cause ?? error;
      this.#options.observe({ kind: 'http.failed', requestId, application, function: functionName, error: cause });
    }
    if (exchange.wire.hasBegun) exchange.wire.destroy();
    else writeError(exchange, refused?.error, requestId);
  }
}

function isThisMachine({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
