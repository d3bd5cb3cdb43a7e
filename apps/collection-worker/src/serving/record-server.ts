import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  answerUnreadable,
  FastLaneWire,
  HttpPort,
  limitProblem,
  serverOptions,
  shuttingDown,
  StreamWire,
  toUnreadableError,
  UploadingConnections,
  type FastLaneOptions,
  type PortLimits,
  type RequestDurations,
} from '@drover/http-edge';
import { isRecordsImport, type CodedError } from '@drover/contracts';
import { continueTrace, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { collectionWorkerPortUnusable } from '../errors.js';
import type { CollectionWorkerObservation } from '../observations.js';
import type { CollectionUse } from '../membership/collection-use.js';
import { isForRecords } from '../routing/match-route.js';
import { RecordExchange } from './record-exchange.js';
import type { RecordRequests } from './record-requests.js';

export interface RecordServerOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: PortLimits;
  readonly hasFastLane: boolean;
  readonly requests: Pick<RecordRequests, 'serve'>;
  /** Answers probes and metrics; returns false for any other path. */
  readonly serveProbe: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Whether the process is stopping: connections then close after their answers, so that clients connect elsewhere. */
  readonly isEnding: () => boolean;
  /** Whether spans are exported or single requests are logged. */
  readonly isTraced: boolean;
  readonly durations: RequestDurations;
  /** Counts the requests of each collection; undefined if no control plane has to know. */
  readonly use: Pick<CollectionUse, 'end'> | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<CollectionWorkerObservation>;
}

/** The HTTP port of the records API, with the probes of the process. */
export class RecordServer implements Lifecycle {
  readonly name = 'record server';
  readonly #options: RecordServerOptions;
  readonly #uploads: UploadingConnections;
  readonly #port: HttpPort;

  constructor(options: RecordServerOptions) {
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

  get openConnections(): number {
    return this.#port.openConnections;
  }

  async start(): Promise<void> {
    const { host, port, observe } = this.#options;
    try {
      await this.#port.listen();
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      throw collectionWorkerPortUnusable({ host, port, reason }, error);
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
    if (!isForRecords(request.url)) return false;
    this.#serve(new FastLaneWire(request, exchange), undefined);
    return true;
  };

  #accept(request: IncomingMessage, response: ServerResponse): void {
    if (this.#options.serveProbe(request, response)) return;
    // Only imports may be longer than the limit of other bodies, and take longer.
    if (isRecordsImport(request.method, request.url)) this.#uploads.begin(request);
    this.#serve(new StreamWire(request, response), limitProblem(request, this.#options.limits));
  }

  #serve(wire: FastLaneWire | StreamWire, problem: CodedError | undefined): void {
    const { clock, isEnding, requests } = this.#options;
    const isClosing = this.#port.isClosing;
    const exchange = new RecordExchange(wire, { startedMs: clock.monotonicMs(), isClosing: isClosing || isEnding() });
    wire.onEnd = (status, hasLeft) => {
      if (hasLeft) exchange.onLeft?.();
      this.#end(exchange, status);
    };
    if (isClosing) return exchange.refuse(shuttingDown({}));
    if (problem) return exchange.refuse(problem);
    void requests.serve(exchange);
  }

  #end(exchange: RecordExchange, status: number): void {
    const { clock, randomness, observe, isTraced, durations, use } = this.#options;
    const { request, requestId, route, failure, keyId } = exchange;
    if (failure !== undefined) observe({ kind: 'http.failed', requestId, route, error: failure });
    const durationMs = clock.monotonicMs() - exchange.startedMs;
    const { method } = request;
    durations.record(method, route, status, durationMs);
    use?.end(exchange.collectionId, status, durationMs);
    if (!isTraced) return;
    const trace = continueTrace(request.headers.traceparent as string | undefined, randomness);
    const endedAt = clock.now();
    observe({ kind: 'http.request', requestId, method, route, status, durationMs, endedAt, keyId, trace });
  }
}
