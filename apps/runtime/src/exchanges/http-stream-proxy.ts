import { isCodedError, type CodedError } from '@drover/contracts';
import {
  endToEndHeaders,
  ProxiedRequest,
  type AnswerSink,
  type ForwardedRequest,
  type MissKind,
} from '@drover/http-edge';
import { sleep, type Clock, type Randomness } from '@drover/service-kit';
import { requestBodyTooLarge, streamFailed, streamTimedOut } from './errors.js';
import type { PassedExchange } from './exchange.js';
import { HeldSink } from './held-sink.js';
import { LeavableSink } from './leavable-sink.js';
import { WorkerConnections, type WorkerTurn } from './worker-connections.js';
import { workerRequestHead } from './worker-request-head.js';
import { withExtra } from './write-answer.js';

export interface StreamProxyOptions {
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'fraction'>;
  /** Time limit without a byte in either direction. */
  readonly idleMs: number;
}

/** The invocation of a streamed request and the address of its worker. */
export interface StreamedCall {
  readonly httpUri: URL;
  readonly invocationId: string;
  /** Scheme and host that the client used. */
  readonly scheme: string;
  readonly host: string;
  /** Undefined: not read yet; streamed as it arrives. */
  readonly body: Buffer | undefined;
  /** Of a body that is streamed. */
  readonly bodyLimitBytes: number;
  /** The answer is held until `release`, unless the function streams it. */
  readonly holdsAnswer: boolean;
}

/** An answer that is streamed from a worker to the client. */
export interface ProxiedAnswer {
  /** The head was sent to the client, so no other answer is possible. */
  readonly hasBegun: boolean;
  /** The worker may have received the request: its function may run. Known when `done` has settled. */
  readonly isSent: boolean;
  /** Resolves when the answer is complete. Rejects with a coded error. */
  readonly done: Promise<void>;
  /** Nothing of the answer was sent to the client, because it is held. */
  readonly isHeld: boolean;
  /** Sends an answer that is held, as far as it has arrived, and what arrives later. */
  release(): void;
  /** `abort` was called, so a failure is expected. */
  readonly isAborted: boolean;
  abort(): void;
}

/** A worker that has just started may not listen yet. */
const maxAttempts = 10;
const attemptMs = { least: 50, most: 250 };
const connectTimeoutMs = 10_000;

/** Proxies requests to the HTTP servers inside of function workers, and their answers back, as they arrive. */
export class HttpStreamProxy {
  readonly #options: StreamProxyOptions;
  /** By host and port of a worker. Those of workers that are gone are dropped when another one comes. */
  readonly #workers = new Map<string, WorkerConnections>();

  constructor(options: StreamProxyOptions) {
    this.#options = options;
  }

  start(exchange: PassedExchange, call: StreamedCall): ProxiedAnswer {
    const abort = new AbortController();
    const state: ProxyState = { isSent: false };
    const held = call.holdsAnswer ? new HeldSink(exchange.sink, this.#options.clock) : undefined;
    const done = this.#run({ exchange, sink: held ?? exchange.sink }, call, abort.signal, state).catch(
      (error: unknown) => {
        throw this.#toCoded(error, call);
      },
    );
    // The caller may learn in another way that it failed, and never await it.
    done.catch(() => undefined);
    return {
      done,
      get hasBegun() {
        return state.request?.hasBegun === true && held?.isHolding !== true;
      },
      get isHeld() {
        return held?.isHolding === true;
      },
      release: () => held?.release(),
      get isSent() {
        return state.isSent;
      },
      get isAborted() {
        return abort.signal.aborted;
      },
      abort: () => {
        held?.discard();
        abort.abort();
      },
    };
  }

  close(): void {
    for (const { pool } of this.#workers.values()) void pool.close();
  }

  async #run(
    { exchange, sink }: { readonly exchange: PassedExchange; readonly sink: AnswerSink },
    call: StreamedCall,
    signal: AbortSignal,
    state: ProxyState,
  ): Promise<void> {
    const request = toRequest(exchange, call);
    const passed = { sink: new LeavableSink(sink), extraHeaders: exchange.extraHeaders };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#send(passed, call.httpUri, request, signal, state);
      } catch (error) {
        if (!(error instanceof NotTaken) || attempt >= maxAttempts) throw error;
        const { clock, randomness } = this.#options;
        const spread = (attemptMs.most - attemptMs.least) * randomness.fraction();
        await sleep(clock, attemptMs.least + spread, signal);
      }
    }
  }

  /** Resolves when the answer was passed on. Rejects with NotTaken if the worker has seen nothing of the request. */
  #send(
    { sink, extraHeaders }: Pick<PassedExchange, 'sink' | 'extraHeaders'>,
    httpUri: URL,
    request: ForwardedRequest,
    signal: AbortSignal,
    state: ProxyState,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(givenUp());
      const connections = this.#connectionsTo(httpUri);
      const isWhole = request.body === undefined || !('source' in request.body);
      let turn: WorkerTurn | undefined;
      const over = (): void => {
        signal.removeEventListener('abort', giveUp);
        turn?.end();
      };
      const start = (begun: WorkerTurn): void => {
        turn = begun;
        state.request = new ProxiedRequest({
          pool: connections.pool,
          request: begun.isFirst ? askingToContinue(request) : request,
          sink,
          answerHeaders: (raw) => withExtra(endToEndHeaders(raw), extraHeaders),
          onHeard: () => begun.recordHeard(true),
          onMissed,
          onEnd,
        });
        state.request.start();
      };
      const onMissed = (miss: MissKind, error: Error): void => {
        over();
        const isRefused = 'code' in error && error.code === 'ECONNREFUSED';
        const isSafe = isRefused || (miss === 'stale' && isWhole);
        state.isSent = !isSafe && miss !== 'unsent';
        reject(isSafe ? new NotTaken(error.message, { cause: error }) : error);
      };
      const onEnd = (error: Error | undefined): void => {
        over();
        state.isSent = true;
        if (error) reject(error);
        else resolve();
      };
      const giveUp = (): void => {
        leave();
        state.request?.abort();
        over();
        reject(givenUp());
      };
      signal.addEventListener('abort', giveUp, { once: true });
      const leave = connections.enter(start);
    });
  }

  #connectionsTo(url: URL): WorkerConnections {
    const { host } = url;
    const known = this.#workers.get(host);
    if (known) return known;
    for (const [name, { pool }] of this.#workers) if (pool.isUnused) this.#workers.delete(name);
    const { clock, idleMs } = this.#options;
    const connections = new WorkerConnections({
      url,
      maxConnections: Number.POSITIVE_INFINITY,
      connectTimeoutMs,
      inactivityMs: idleMs,
      clock,
    });
    this.#workers.set(host, connections);
    return connections;
  }

  #toCoded(error: unknown, { bodyLimitBytes: limitBytes }: StreamedCall): CodedError {
    if (isCodedError(error)) return error;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const { idleMs } = this.#options;
    if (code === 'INACTIVE') return streamTimedOut({ idleMs }, error);
    if (code === 'REQUEST_BODY_TOO_LARGE') return requestBodyTooLarge({ limitBytes }, error);
    return streamFailed({ reason: error instanceof Error ? error.message : String(error) }, error);
  }
}

interface ProxyState {
  isSent: boolean;
  request?: ProxiedRequest;
}

function givenUp(): Error {
  return new Error('The request was given up.');
}

/** The server of a Node.js worker answers `100 Continue` as soon as it has accepted the connection and read the head. */
function askingToContinue(request: ForwardedRequest): ForwardedRequest {
  return { ...request, wholeHead: `${request.wholeHead.slice(0, -2)}expect: 100-continue\r\n\r\n` };
}

/** The worker has not seen the request: it may be sent again. */
class NotTaken extends Error {}

function toRequest(exchange: PassedExchange, call: StreamedCall): ForwardedRequest {
  const isChunked = exchange.headers['transfer-encoding'] !== undefined;
  const streamed = exchange.body && { source: exchange.body, isChunked, maxBytes: call.bodyLimitBytes };
  const whole = call.body && call.body.length > 0 ? call.body : undefined;
  return {
    wholeHead: workerRequestHead(exchange, call, joinPath(call.httpUri.pathname, exchange.url)),
    body: call.body ? whole : streamed,
    isHead: exchange.method === 'HEAD',
  };
}

/** The path and query that the caller sent, under the worker's own. */
function joinPath(base: string, url: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  return base === '/' ? target : `${base.replace(/\/$/, '')}${target}`;
}
