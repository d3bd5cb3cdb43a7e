import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request as connect, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { toErrorBody, type CodedError } from '@drover/contracts';
import type { Lifecycle } from '@drover/service-kit';
import { noFunctions, runtimeBroke, runtimeUnreachable } from '../errors.js';
import { forwardedHeaders, returnedHeaders } from './headers.js';

export interface FunctionProxyOptions {
  /** Where the runtime is called over HTTP, or the file that will say so; neither when there is none. */
  readonly runtimeUrl: string | undefined;
  readonly runtimeUrlFile?: string | undefined;
  readonly maxConnections?: number;
}

/** The prefix under which functions are called. */
const prefix = '/api/';
const maxConnections = 1_024;

/**
 * Hands requests for functions on to the runtime, bodies as they come. A request that the runtime has not taken yet is tried
 * once more when a kept connection turns out to be closed; one that it may have begun with is never repeated.
 */
export class FunctionProxy implements Lifecycle {
  readonly name = 'function proxy';
  readonly #file: string | undefined;
  #target: URL | undefined;
  readonly #agent: Agent;

  constructor(options: FunctionProxyOptions) {
    this.#file = options.runtimeUrlFile;
    this.#target = options.runtimeUrl === undefined ? undefined : new URL(options.runtimeUrl);
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: options.maxConnections ?? maxConnections,
      scheduling: 'lifo',
    });
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#agent.destroy();
  }

  /** True when the request was for a function and is taken care of. */
  readonly take = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (!request.url?.startsWith(prefix)) return false;
    const target = (this.#target ??= this.#readTarget());
    if (target) this.#forward(target, request, response);
    else
      refuse(response, this.#file === undefined ? noFunctions({}) : runtimeUnreachable({ reason: 'it is starting' }));
    return true;
  };

  /** Only until it is known, and again when nobody listens there any more. */
  #readTarget(): URL | undefined {
    if (this.#file === undefined) return undefined;
    try {
      return new URL(readFileSync(this.#file, 'utf8').trim());
    } catch {
      return undefined; // not written yet
    }
  }

  #forward(target: URL, request: IncomingMessage, response: ServerResponse): void {
    let began = false;
    const upstream: ClientRequest = connect({
      agent: this.#agent,
      host: target.hostname,
      port: target.port,
      method: request.method,
      path: request.url,
      headers: forwardedHeaders(request),
    });
    upstream.on('response', (answer) => {
      began = true;
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, returnedHeaders(answer));
      // A break in the middle must break here too, so that nobody takes half an answer for a whole one.
      pipeline(answer, response, () => undefined);
    });
    upstream.on('error', (error) => {
      if (began || response.headersSent || response.destroyed) return;
      const isRefused = 'code' in error && (error.code === 'ECONNREFUSED' || error.code === 'ENOENT');
      // Nothing of the body has been read: the very same request can go again.
      if (upstream.reusedSocket && isClosed(error) && !hasBody(request))
        return this.#forward(target, request, response);
      if (isRefused && this.#file !== undefined) this.#target = undefined;
      refuse(
        response,
        isRefused ? runtimeUnreachable({ reason: 'it does not listen' }) : runtimeBroke({ reason: error.message }),
      );
    });
    response.once('close', () => {
      if (!response.writableFinished) upstream.destroy();
    });
    if (hasBody(request)) pipeline(request, upstream, () => undefined);
    else upstream.end();
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** A kept connection was closed by the other side before our request reached it. */
function isClosed(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}

function refuse(response: ServerResponse, error: CodedError): void {
  const requestId = randomUUID();
  const body = JSON.stringify(toErrorBody(error, requestId).body);
  response.writeHead(error.status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
    ...(error.retryable && { 'retry-after': '1' }),
  });
  response.end(body);
}
