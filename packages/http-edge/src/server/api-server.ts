import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Lifecycle, Observe, Randomness } from '@drover/service-kit';
import type { ApiObservation } from './api-observations.js';
import type { FastLaneOptions } from './fast-lane/fast-lane.js';
import { HttpPort } from './port.js';
import { serverOptions, type PortLimits } from './port-limits.js';
import { answerUnreadable, toUnreadableError } from './unreadable-request.js';
import { UploadingConnections } from './uploading-connections.js';

export interface ApiServerOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: PortLimits;
  readonly hasFastLane: boolean;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<Extract<ApiObservation, { readonly kind: 'http.listening' | 'http.unreadable' }>>;
}

/** The HTTP port of a process that serves an API: its start and end, its fast lane, and the answers to requests that cannot be read. */
export abstract class ApiServer implements Lifecycle {
  abstract readonly name: string;
  readonly #options: ApiServerOptions;
  readonly #uploads: UploadingConnections;
  readonly #port: HttpPort;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    const { host, port, limits, hasFastLane, clock } = options;
    this.#uploads = new UploadingConnections(clock);
    this.#port = new HttpPort(this.#createServer(), {
      host,
      port,
      limits,
      serveFastLane: hasFastLane ? (request, exchange) => this.serveFastLane(request, exchange) : undefined,
      clock,
    });
  }

  /** The URL at which it listens; known once it has started. */
  get url(): string {
    return this.#port.url;
  }

  get openConnections(): number {
    return this.#port.openConnections;
  }

  /** Serves a connection that another listener has accepted. */
  serveConnection(socket: Socket): void {
    this.#port.serveConnection(socket);
  }

  async start(): Promise<void> {
    const { host, port, observe } = this.#options;
    try {
      await this.#port.listen();
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      throw this.portUnusable({ host, port, reason }, error);
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

  protected get isClosing(): boolean {
    return this.#port.isClosing;
  }

  /** Serves a request of Node's server. */
  protected abstract accept(request: IncomingMessage, response: ServerResponse): void;
  protected abstract serveFastLane(...call: Parameters<FastLaneOptions['serve']>): boolean;
  protected abstract portUnusable(
    about: { readonly host: string; readonly port: number; readonly reason: string },
    cause: unknown,
  ): Error;

  /** Lets the body of a request take as long as it goes on. */
  protected beginUpload(request: IncomingMessage): void {
    this.#uploads.begin(request);
  }

  #createServer(): Server {
    const { limits, observe, randomness } = this.#options;
    const server = createServer(serverOptions(limits));
    server.on('request', (request, response) => this.accept(request, response));
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
}
