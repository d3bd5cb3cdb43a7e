import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isForFunctions, type CodedError } from '@drover/contracts';
import {
  answerUnreadable,
  HttpPort,
  requestIdOf,
  serverOptions,
  unreadableKind,
  type ConnectionChannel,
  type FastLaneOptions,
} from '@drover/http-edge';
import type { Clock, Lifecycle, Randomness } from '@drover/service-kit';
import type { InvocationAssignment } from '../invocations/invocation-call.js';
import { ByteBudget } from '../exchanges/byte-budget.js';
import { isAboutApplications } from '../calls/serve-applications.js';
import { dispatch, type DispatchOptions } from './dispatch.js';
import { functionsPortUnusable, requestHeadTooLarge, requestTooSlow, requestUnreadable } from '../exchanges/errors.js';
import { Exchange } from '../exchanges/exchange.js';
import type { HealthSource } from './health.js';
import type { IndexSource } from '../indexing/serve-index.js';
import type { HttpApplications } from '../routes/http-application.js';
import { functionsPortLimits, type FunctionsPortLimits } from './http-limits.js';
import type { HttpObserve } from '../exchanges/http-observations.js';
import { HttpStreamProxy } from '../exchanges/http-stream-proxy.js';
import { FunctionsFastLaneWire } from '../exchanges/functions-fast-lane-wire.js';
import { FunctionsNodeWire } from '../exchanges/functions-node-wire.js';
import type { FunctionsWire } from '../exchanges/functions-wire.js';
import { asRefused } from '../exchanges/outcome-refusal.js';
import { pooledRandomness } from '../invocations/pooled-randomness.js';
import { writeError } from '../exchanges/write-answer.js';

export interface FunctionsHttpServerOptions {
  readonly host: string;
  readonly port: number;
  /** Overrides of `functionsPortLimits`. */
  readonly limits?: Partial<FunctionsPortLimits>;
  /** Whether plain requests are served in front of Node's server; default: true. */
  readonly hasFastLane?: boolean;
  readonly applications: HttpApplications;
  /** Passes connections that the gateway has accepted; they are served as if they had been accepted here. */
  readonly connections?: ConnectionChannel | undefined;
  /** Undefined: this port serves no probes. */
  readonly health?: HealthSource | undefined;
  /** Undefined: this port indexes no applications. */
  readonly indexing?: IndexSource | undefined;
  /** Whether `x-forwarded-proto` and `x-forwarded-host` come from a trusted proxy. */
  readonly trustsForwarded: boolean;
  /** Whether `x-ms-client-principal` comes from a trusted proxy; otherwise it is removed. */
  readonly trustsClientPrincipal: boolean;
  /** Which addresses of workers may be streamed to. Default: loopback only. */
  readonly mayStreamTo?: (httpUri: URL, assigned: InvocationAssignment) => boolean;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: HttpObserve;
}

/** The HTTP server of the functions, the admin API, and the health of the process. */
export class FunctionsHttpServer implements Lifecycle {
  readonly name = 'functions http server';
  readonly #options: FunctionsHttpServerOptions;
  readonly #limits: FunctionsPortLimits;
  readonly #port: HttpPort;
  readonly #proxy: HttpStreamProxy;
  readonly #dispatching: DispatchOptions;

  constructor(options: FunctionsHttpServerOptions) {
    this.#options = options;
    this.#limits = { ...functionsPortLimits, ...options.limits };
    const { clock, randomness, trustsForwarded, trustsClientPrincipal } = options;
    const { streamIdleMs, bodyBytes, bufferedBodyBytes, bodyIdleMs, heldBodyBytes } = this.#limits;
    this.#proxy = new HttpStreamProxy({ clock, randomness, idleMs: streamIdleMs });
    this.#dispatching = {
      ...options,
      health: options.health,
      limits: this.#limits,
      isClosing: () => this.#port.isClosing,
      serving: {
        clock,
        randomness: pooledRandomness(randomness),
        proxy: this.#proxy,
        bodies: {
          bytes: bodyBytes,
          bufferedBytes: Math.min(bufferedBodyBytes, heldBodyBytes),
          idleMs: bodyIdleMs,
          budget: new ByteBudget(heldBodyBytes),
        },
        trustsForwarded,
        trustsClientPrincipal,
        mayStreamTo: options.mayStreamTo ?? isThisMachine,
      },
    };
    const { host, port, hasFastLane = true } = options;
    this.#port = new HttpPort(this.#createServer(), {
      host,
      port,
      limits: this.#limits,
      serveFastLane: hasFastLane ? this.#serveFastLane : undefined,
      isFramed: isAboutApplications,
      clock,
    });
    if (options.connections) this.#port.adoptFrom(options.connections, isForFunctions);
  }

  /** The URL at which it listens; known once it has started. */
  get url(): string {
    return this.#port.url;
  }

  async start(): Promise<void> {
    const { host, port, observe } = this.#options;
    try {
      await this.#port.listen();
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      throw functionsPortUnusable({ host, port, reason }, error);
    }
    observe({ kind: 'http.listening', url: this.url });
  }

  /** Accepts no new connections, completes requests in flight, and closes the rest at the deadline. */
  drain(deadline: AbortSignal): Promise<void> {
    return this.#port.drain(deadline);
  }

  async stop(): Promise<void> {
    await this.#port.stop();
    this.#proxy.close();
  }

  #createServer(): Server {
    const limits = this.#limits;
    const server = createServer(serverOptions(limits));
    server.on('request', (request, response) => this.#accept(request, response));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const connection = socket as Socket; // of a TCP server
      this.#port.connections.refuseRest(connection, error, () => {
        const { code = 'unknown' } = error;
        const refusal = toUnreadableError(code, limits);
        answerUnreadable(connection, refusal, this.#options.randomness.uuid());
        this.#options.observe({ kind: 'http.unreadable', status: refusal.status, reason: code });
      });
    });
    return server;
  }

  readonly #serveFastLane: FastLaneOptions['serve'] = (request, exchange) => {
    this.#serve(new FunctionsFastLaneWire(request, exchange));
    return true;
  };

  #accept(request: IncomingMessage, response: ServerResponse): void {
    this.#serve(new FunctionsNodeWire(request, response, this.#port.connections.signalOf(request.socket)));
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
    if ((refused?.error.status ?? 500) >= 500 && !refused?.isReported && !exchange.isOver) {
      const { application, functionName } = exchange;
      const cause = refused?.cause ?? error;
      this.#options.observe({ kind: 'http.failed', requestId, application, function: functionName, error: cause });
    }
    if (exchange.wire.hasBegun) exchange.wire.destroy();
    else writeError(exchange, refused?.error, requestId, this.#retryAfter(exchange, refused?.error));
  }

  /** Returns the header with the time until a call can succeed, where it is known; else none. */
  #retryAfter({ application }: Exchange, error: CodedError | undefined): readonly string[] {
    if (!error?.retryable || error.status !== 503) return [];
    const { retryAfterMs } = error.details;
    const served = this.#options.applications.all().find(({ name }) => name === application);
    const ms = typeof retryAfterMs === 'number' ? retryAfterMs : (served?.readyInMs() ?? 0);
    return ms > 0 ? ['retry-after', String(Math.ceil(ms / 1_000))] : [];
  }
}

/** Returns the error for a request that Node's server could not read. */
function toUnreadableError(code: string, limits: FunctionsPortLimits): CodedError {
  switch (unreadableKind(code)) {
    case 'head-too-large':
      return requestHeadTooLarge({ limitBytes: limits.headerBytes });
    case 'too-slow':
      return requestTooSlow({});
    case 'not-http':
      return requestUnreadable({ problem: 'it is not valid HTTP. Correct the client.' });
  }
}

function isThisMachine({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
