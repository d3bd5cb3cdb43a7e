import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { sleep, type Clock, type Randomness } from '@drover/service-kit';
import { isCodedError, type CodedError } from '@drover/contracts';
import { requestBodyTooLarge, streamFailed, streamTimedOut } from './errors.js';
import type { PassedExchange } from './exchange.js';
import { endToEndHeaders, forwardedHeaders } from './proxy-headers.js';
import { withExtra } from './write-answer.js';

export interface StreamProxyOptions {
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'fraction'>;
  /** Without a byte in either direction. */
  readonly idleMs: number;
  readonly bodyLimitBytes: number;
}

/** Which invocation a request belongs to, and where its worker listens. */
export interface StreamedCall {
  readonly httpUri: URL;
  readonly invocationId: string;
  /** As the caller knows this server: scheme and host. */
  readonly scheme: string;
  readonly host: string;
  /** Undefined: still on the connection, to be passed on as it comes. */
  readonly body: Buffer | undefined;
}

/** An answer on its way from a worker to a caller. */
export interface ProxiedAnswer {
  /** The caller has seen the beginning of it: nothing else can be answered any more. */
  readonly hasBegun: boolean;
  /** Resolves when all of it was passed on. Rejects with a coded error. */
  readonly done: Promise<void>;
  /** We gave it up ourselves: that it fails then is no news. */
  readonly isAborted: boolean;
  abort(): void;
}

/** A worker that has just begun may not listen yet. */
const maxAttempts = 10;
const attemptMs = { least: 50, most: 250 };

/** Passes requests on to the HTTP servers inside of workers, and their answers back, as they come. */
export class HttpStreamProxy {
  readonly #options: StreamProxyOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1_024 });

  constructor(options: StreamProxyOptions) {
    this.#options = options;
  }

  start(exchange: PassedExchange, call: StreamedCall): ProxiedAnswer {
    const abort = new AbortController();
    const state = { hasBegun: false };
    const done = this.#run(exchange, call, abort.signal, state).catch((error: unknown) => {
      throw toCoded(error);
    });
    // Who starts it may learn otherwise that it failed, and never look.
    done.catch(() => undefined);
    return {
      done,
      get hasBegun() {
        return state.hasBegun;
      },
      get isAborted() {
        return abort.signal.aborted;
      },
      abort: () => abort.abort(),
    };
  }

  close(): void {
    this.#agent.destroy();
  }

  async #run(
    exchange: PassedExchange,
    call: StreamedCall,
    signal: AbortSignal,
    state: { hasBegun: boolean },
  ): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const answer = await this.#send(exchange, call, signal);
        state.hasBegun = true;
        return await this.#passOn(exchange, answer, signal);
      } catch (error) {
        if (!(error instanceof NotTaken) || attempt >= maxAttempts) throw error;
        const { clock, randomness } = this.#options;
        const spread = (attemptMs.most - attemptMs.least) * randomness.fraction();
        await sleep(clock, attemptMs.least + spread, signal);
      }
    }
  }

  /** Resolves with the beginning of the answer. Rejects with NotTaken while nothing of the request can have been seen. */
  #send({ request, method }: PassedExchange, call: StreamedCall, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { httpUri, body } = call;
      const upstream = httpRequest({
        agent: this.#agent,
        host: httpUri.hostname.replaceAll(/^\[|\]$/g, ''),
        port: httpUri.port,
        method,
        path: joinPath(httpUri.pathname, request.url ?? '/'),
        headers: forwardedHeaders(request, call),
        timeout: this.#options.idleMs,
        signal,
        setHost: false,
      });
      let isSent = false;
      const send = (): void => {
        isSent = body === undefined;
        if (body) upstream.end(body);
        else this.#stream(request, upstream);
      };
      // Only on a connection that stands: what is written before would be lost with it.
      upstream.once('socket', (socket) => (socket.connecting ? socket.once('connect', send) : send()));
      upstream.once('response', resolve);
      upstream.once('timeout', () => upstream.destroy(streamTimedOut({ idleMs: this.#options.idleMs })));
      upstream.on('error', (error: NodeJS.ErrnoException) => {
        const isStale = upstream.reusedSocket && error.code === 'ECONNRESET' && !isSent;
        reject(error.code === 'ECONNREFUSED' || isStale ? new NotTaken(error.message, { cause: error }) : error);
      });
    });
  }

  #stream(request: PassedExchange['request'], upstream: ClientRequest): void {
    const { bodyLimitBytes: limitBytes } = this.#options;
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.byteLength;
      if (length > limitBytes) upstream.destroy(requestBodyTooLarge({ limitBytes }));
    });
    request.pipe(upstream);
  }

  #passOn({ response, extraHeaders }: PassedExchange, answer: IncomingMessage, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        answer.destroy();
        reject(error);
      };
      if (response.destroyed) return fail(new Error('the caller is gone'));
      response.writeHead(answer.statusCode ?? 502, withExtra(endToEndHeaders(answer), extraHeaders));
      response.flushHeaders();
      signal.addEventListener('abort', () => fail(new Error('given up')), { once: true });
      response.once('close', () => (response.writableFinished ? resolve() : fail(new Error('the caller is gone'))));
      answer.on('error', fail);
      answer.once('aborted', () => fail(new Error('the worker broke off its answer')));
      answer.pipe(response);
    });
  }
}

/** The worker has not seen the request: it may be sent again. */
class NotTaken extends Error {}

function toCoded(error: unknown): CodedError {
  if (isCodedError(error)) return error;
  return streamFailed({ reason: error instanceof Error ? error.message : String(error) }, error);
}

/** The path and query that the caller sent, under the worker's own. */
function joinPath(base: string, url: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  return base === '/' ? target : `${base.replace(/\/$/, '')}${target}`;
}
