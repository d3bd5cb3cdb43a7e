import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { CodedError } from '@drover/contracts';
import {
  ConnectionPool,
  corsHeaders,
  FastLaneSink,
  forwardedChanges,
  forwardFastLane,
  forwardStream,
  ProxiedRequest,
  requestIdOf,
  ResponseSink,
  type AnswerSink,
  type CorsPolicy,
  type ErrorAnswer,
  type FastLaneExchange,
  type FastLaneRequest,
  type ForwardedRequest,
  type HeadChanges,
  type MissKind,
} from '@drover/http-edge';
import type { Clock, Randomness } from '@drover/service-kit';
import { HeldRequests } from './held-requests.js';
import { UnservedPathSink, type UnservedAnswer } from './unserved-path.js';

export interface UpstreamOptions {
  /** The HTTP address, or the file that will hold it; neither if none is configured. */
  readonly url: string | undefined;
  readonly urlFile: string | undefined;
  readonly maxConnections?: number | undefined;
  /** How long a request waits while nothing accepts connections, and how many may. */
  readonly holdMs: number;
  readonly maxHeldRequests: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Writes an error in the shape that the errors of the upstream have. */
  readonly toAnswer: (error: CodedError, requestId: string) => ErrorAnswer;
  /** Which pages of other origins may read its own answers; those of the upstream are passed on as they are. */
  readonly cors?: CorsPolicy | undefined;
  /** What is changed in the heads of requests; `forwardedChanges` unless given. */
  readonly changes?: (remoteAddress: string | undefined, host: string | undefined) => HeadChanges;
  readonly errors: {
    /** No address is configured. */
    readonly absent: () => CodedError;
    /** The request was not sent. */
    readonly unreachable: (reason: string) => CodedError;
    /** The request was sent, and may have had its effect. */
    readonly brokeOff: (reason: string) => CodedError;
  };
}

/** What is particular about one request. */
export interface ForwardOptions {
  /** Answers in place of the upstream if that has nothing at the path. */
  readonly unserved?: UnservedAnswer | undefined;
  /** The body, if it was read before. */
  readonly body?: Buffer | undefined;
  /** Where the answer of the upstream goes; to the client as it comes unless given. */
  readonly sink?: AnswerSink;
}

/** A request on its way to the upstream. */
interface ProxiedCall {
  readonly request: ForwardedRequest;
  readonly sink: AnswerSink;
  /** Writes an error answer on the connection that the request came on. */
  readonly refuse: (error: CodedError) => void;
  /** The same if there is no upstream. */
  readonly refuseAbsent: (error: CodedError) => void;
  /** Until when it may wait; undefined if it has not waited. */
  heldUntilMs: number | undefined;
}

const defaultMaxConnections = 1_024;
const connectTimeoutMs = 5_000;

/**
 * One process that requests are proxied to; it may be away for a while, and come back at another address.
 *
 * - A request of which it has seen nothing is held while it accepts no connections, up to a limit of time and number.
 * - A request without a body that meets a kept connection which it has just closed is sent once more, on a new connection.
 * - A request that it may have begun with is never repeated.
 */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #held: HeldRequests;
  readonly #changes: NonNullable<UpstreamOptions['changes']>;
  #pool: ConnectionPool | undefined;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    const { clock, maxHeldRequests: maxRequests, changes = forwardedChanges } = options;
    this.#changes = changes;
    this.#held = new HeldRequests({ maxRequests, clock, probe: () => this.#probe() });
  }

  /** Answers the requests that wait: their clients find another gateway. */
  drain(): void {
    this.#held.close();
  }

  async stop(): Promise<void> {
    this.#held.close();
    await this.#pool?.close();
  }

  /** Proxies a request of Node's server. */
  forward(request: IncomingMessage, response: ServerResponse, options: ForwardOptions = {}): void {
    const { unserved, body, sink = new ResponseSink(response) } = options;
    const streamed = forwardStream(request, this.#changes(request.socket.remoteAddress, request.headers.host));
    const call = {
      request: body ? { ...streamed, body } : streamed,
      sink,
      answer: ({ status, headers, body }: ErrorAnswer) => {
        response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(body))]);
        response.end(body);
      },
    };
    this.#begin(this.#toCall(call, request.headers, unserved));
  }

  /** Proxies a request of the fast lane. */
  forwardFastLane(request: FastLaneRequest, exchange: FastLaneExchange, options: ForwardOptions = {}): void {
    const { unserved, sink = new FastLaneSink(exchange) } = options;
    const call = {
      request: forwardFastLane(request, this.#changes(exchange.remoteAddress, request.headers['host'])),
      sink,
      answer: ({ status, headers, body }: ErrorAnswer) => exchange.answer(status, headers, body),
    };
    this.#begin(this.#toCall(call, request.headers, unserved));
  }

  #toCall(
    {
      request,
      sink,
      answer,
    }: Pick<ProxiedCall, 'request' | 'sink'> & { readonly answer: (error: ErrorAnswer) => void },
    headers: IncomingMessage['headers'],
    unserved: UnservedAnswer | undefined,
  ): ProxiedCall {
    const { randomness, toAnswer, cors } = this.#options;
    const answerOwn = (own: ErrorAnswer): void =>
      answer({ ...own, headers: [...own.headers, ...corsHeaders(cors, headers.origin)] });
    const refuse = (error: CodedError): void => answerOwn(toAnswer(error, requestIdOf(headers, randomness)));
    if (!unserved) return { request, sink, refuse, refuseAbsent: refuse, heldUntilMs: undefined };
    const refuseUnserved = (): void => answerOwn(unserved(requestIdOf(headers, randomness)));
    const sinkOfServed = new UnservedPathSink(sink, refuseUnserved);
    return { request, sink: sinkOfServed, refuse, refuseAbsent: refuseUnserved, heldUntilMs: undefined };
  }

  #begin(call: ProxiedCall): void {
    const { url, urlFile, errors } = this.#options;
    const pool = this.#findPool();
    if (pool) this.#send(pool, call);
    else if (url === undefined && urlFile === undefined) call.refuseAbsent(errors.absent());
    else this.#hold(call, 'it is starting');
  }

  #send(pool: ConnectionPool, call: ProxiedCall, isSecond = false): void {
    const { request, sink, refuse } = call;
    const onMissed = (miss: MissKind, error: Error): void => {
      if (miss === 'stale' && request.body === undefined && !isSecond) return this.#send(pool, call, true);
      // The process that closed the first connection may have begun with the request: it does not wait for the next one.
      if (miss !== 'unsent' || isSecond) return refuse(this.#options.errors.brokeOff(error.message));
      this.#leavePool(pool);
      this.#hold(call, 'it does not listen');
    };
    new ProxiedRequest({ pool, request, sink, onMissed, isOnNewConnection: isSecond }).start();
  }

  /** Lets a request wait that was not sent; refuses it when its time is over or too many wait. */
  #hold(call: ProxiedCall, why: string): void {
    const { clock, holdMs, errors } = this.#options;
    const { sink, refuse } = call;
    if (sink.isOver) return;
    const untilMs = (call.heldUntilMs ??= clock.monotonicMs() + holdMs);
    const cancel = this.#held.hold({
      key: '',
      untilMs,
      resume: () => {
        sink.onLeft = undefined;
        this.#begin(call);
      },
      giveUp: () => {
        sink.onLeft = undefined;
        refuse(errors.unreachable(why));
      },
    });
    if (cancel) sink.onLeft = cancel;
    else refuse(errors.unreachable(why));
  }

  /** A process that was started again may listen elsewhere: the file is read again for the next request. */
  #leavePool(pool: ConnectionPool): void {
    if (this.#options.urlFile === undefined || this.#pool !== pool) return;
    this.#pool = undefined;
    pool.retire();
  }

  /** Whether a process accepts connections at the address that is known now. */
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
    const { url } = this.#options;
    return url === undefined ? this.#readFile() : new URL(url);
  }

  #openPool(url: URL): ConnectionPool {
    const { clock, maxConnections = defaultMaxConnections } = this.#options;
    return new ConnectionPool({ url, maxConnections, connectTimeoutMs, clock });
  }

  #readFile(): URL | undefined {
    const { urlFile } = this.#options;
    if (urlFile === undefined) return undefined;
    try {
      return new URL(readFileSync(urlFile, 'utf8').trim());
    } catch {
      return undefined; // not written yet
    }
  }
}

function defaultPort({ protocol }: URL): number {
  return protocol === 'https:' ? 443 : 80;
}
