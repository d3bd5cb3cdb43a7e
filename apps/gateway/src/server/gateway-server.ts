import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isRecordsImport } from '@drover/contracts';
import {
  answerUnreadable,
  HttpPort,
  limitProblem,
  requestIdOf,
  serverOptions,
  toErrorAnswer,
  toUnreadableError,
  UploadingConnections,
  type FastLaneOptions,
  type PortLimits,
} from '@drover/http-edge';
import type { Clock, Lifecycle, Observe, Randomness } from '@drover/service-kit';
import type { RequestProxy } from '../collections/collection-proxy.js';
import { gatewayPortUnusable } from '../errors.js';
import type { GatewayObservation } from '../observations.js';
import type { Upstream } from '../proxy/upstream.js';

export interface GatewayServerOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: PortLimits;
  readonly hasFastLane: boolean;
  /** Serves collections and functions. */
  readonly proxy: Pick<RequestProxy, 'serve' | 'serveFastLane'>;
  /** Gets what is neither. */
  readonly controlPlane: Pick<Upstream, 'forward' | 'forwardFastLane'>;
  /** Answers probes and metrics of this process; returns false for any other path. */
  readonly serveProbe: (request: IncomingMessage, response: ServerResponse) => boolean;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<GatewayObservation>;
}

/** Paths that every process answers for itself: a gateway must not show the health of the control plane as its own. */
const ownPath = /^\/(?:healthz|readyz|metrics)(?:\?|$)/;

/** The public port of a gateway that has a process of its own. */
export class GatewayServer implements Lifecycle {
  readonly name = 'gateway server';
  readonly #options: GatewayServerOptions;
  readonly #uploads: UploadingConnections;
  readonly #port: HttpPort;

  constructor(options: GatewayServerOptions) {
    this.#options = options;
    const { host, port, limits, hasFastLane, clock } = options;
    this.#uploads = new UploadingConnections(clock);
    this.#port = new HttpPort(this.#createServer(), {
      host,
      port,
      limits,
      serveFastLane: hasFastLane ? this.#serveFastLane : undefined,
      clock,
    });
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
      throw gatewayPortUnusable({ host, port, reason }, error);
    }
    observe({ kind: 'http.listening', url: this.url });
  }

  /** Accepts no new connections, completes requests in flight, and closes the rest at the deadline. */
  drain(deadline: AbortSignal): Promise<void> {
    return this.#port.drain(deadline);
  }

  stop(): Promise<void> {
    return this.#port.stop();
  }

  #createServer(): Server {
    const { limits, observe, randomness } = this.#options;
    const server = createServer(serverOptions(limits));
    server.on('request', (request, response) => this.#accept(request, response));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (this.#uploads.isExempt(socket, error.code)) return;
      const connection = socket as Socket; // of a TCP server
      this.#port.connections.refuseRest(connection, error, () => {
        const { code = 'unknown' } = error;
        const refusal = toUnreadableError(code, limits);
        const requestId = randomness.uuid();
        answerUnreadable(connection, refusal, requestId);
        observe({ kind: 'http.unreadable', requestId, status: refusal.status, reason: code });
      });
    });
    return server;
  }

  readonly #serveFastLane: FastLaneOptions['serve'] = (request, exchange) => {
    const { proxy, controlPlane } = this.#options;
    if (proxy.serveFastLane(request, exchange)) return true;
    if (ownPath.test(request.url)) return false;
    controlPlane.forwardFastLane(request, exchange);
    return true;
  };

  #accept(request: IncomingMessage, response: ServerResponse): void {
    const { limits, proxy, controlPlane, randomness, serveProbe } = this.#options;
    if (serveProbe(request, response)) return;
    const problem = limitProblem(request, limits);
    if (problem) {
      const { status, headers, body } = toErrorAnswer(problem, requestIdOf(request.headers, randomness));
      response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(body))]).end(body);
      request.resume();
      return;
    }
    // Only uploads may take longer than other bodies.
    if (isRecordsImport(request.method, request.url)) this.#uploads.begin(request);
    if (!proxy.serve(request, response)) controlPlane.forward(request, response);
  }
}
