import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  ApiServer,
  FastLaneWire,
  limitProblem,
  shuttingDown,
  StreamWire,
  type ApiServerOptions,
  type FastLaneExchange,
  type FastLaneRequest,
  type RequestDurations,
} from '@drover/http-edge';
import { isRecordsImport, type CodedError } from '@drover/contracts';
import { continueTrace, type Observe } from '@drover/service-kit';
import { collectionWorkerPortUnusable } from '../errors.js';
import type { CollectionWorkerObservation } from '../observations.js';
import type { CollectionUse } from '../membership/collection-use.js';
import { isForRecords } from '../routing/match-route.js';
import type { AnswerCompressor } from './answer-compressor.js';
import { RecordExchange } from './record-exchange.js';
import type { RecordRequests } from './record-requests.js';

export interface RecordServerOptions extends ApiServerOptions {
  readonly requests: Pick<RecordRequests, 'serve'>;
  /** Answers probes and metrics; returns false for any other path. */
  readonly serveProbe: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Whether the process is stopping: connections then close after their answers, so that clients connect elsewhere. */
  readonly isEnding: () => boolean;
  /** Whether spans are exported or single requests are logged. */
  readonly isTraced: boolean;
  readonly durations: RequestDurations;
  /** Undefined: answers are not compressed. */
  readonly compressor?: AnswerCompressor;
  /** Counts the requests of each collection; undefined if no control plane has to know. */
  readonly use: Pick<CollectionUse, 'end'> | undefined;
  readonly observe: Observe<CollectionWorkerObservation>;
}

/** The HTTP port of the records API, with the probes of the process. */
export class RecordServer extends ApiServer {
  readonly name = 'record server';
  readonly #options: RecordServerOptions;
  protected readonly portUnusable = collectionWorkerPortUnusable;

  constructor(options: RecordServerOptions) {
    super(options);
    this.#options = options;
  }

  protected serveFastLane(request: FastLaneRequest, exchange: FastLaneExchange): boolean {
    if (!isForRecords(request.url)) return false;
    this.#serve(new FastLaneWire(request, exchange), undefined);
    return true;
  }

  protected accept(request: IncomingMessage, response: ServerResponse): void {
    if (this.#options.serveProbe(request, response)) return;
    // Only imports may be longer than the limit of other bodies, and take longer.
    if (isRecordsImport(request.method, request.url)) this.beginUpload(request);
    this.#serve(new StreamWire(request, response), limitProblem(request, this.#options.limits));
  }

  #serve(wire: FastLaneWire | StreamWire, problem: CodedError | undefined): void {
    const { clock, isEnding, requests, compressor } = this.#options;
    const { isClosing } = this;
    const exchange = new RecordExchange(wire, {
      nowMs: () => clock.monotonicMs(),
      isClosing: isClosing || isEnding(),
      compressor,
    });
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
