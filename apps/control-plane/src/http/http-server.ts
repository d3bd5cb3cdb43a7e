import type { AddressInfo } from 'node:net';
import { isCodedError, toErrorBody, type CodedError, type ErrorBody } from '@drover/contracts';
import {
  continueTrace,
  type Clock,
  type Lifecycle,
  type Observe,
  type Randomness,
  type TraceContext,
} from '@drover/service-kit';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Authenticator, Caller } from '../access/authenticator.js';
import {
  accessDenied,
  addressTooLong,
  addressUnusable,
  authenticationRequired,
  mediaTypeUnsupported,
  portTaken,
  routeNotFound,
} from '../errors.js';
import type { ControlPlaneObservation } from '../observations.js';
import { parseJsonBody } from './json-body.js';
import type { RouteHandler } from './route-handler.js';
import { compileValidator } from './schema-validation.js';
import { toCodedError } from './to-coded-error.js';

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly bodyLimitBytes: number;
  readonly handlers: readonly RouteHandler[];
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
    trace: TraceContext;
    startedMs: number;
  }
}

/** Limits that need no setting. (docs/decisions/0006) */
const limits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  headersMs: 15_000,
  requestMs: 30_000,
  keepAliveMs: 5_000,
  connections: 1_000,
};
const retryAfterSeconds = '1';
const requestIdPattern = /^[\w.:-]{1,128}$/;

/** The public HTTP port: every route denies who lacks its scope, and every error has one shape. */
export class HttpServer implements Lifecycle {
  readonly name = 'http server';
  readonly #options: HttpServerOptions;
  readonly #app: FastifyInstance;
  #closed: Promise<void> | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#app = createApp(options);
    this.#setUp();
  }

  /** Where it listens; known once it has started. */
  get url(): string {
    const { port } = this.#app.server.address() as AddressInfo; // a TCP server that listens
    const { host } = this.#options;
    const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  }

  async start(): Promise<void> {
    const { host, port, observe } = this.#options;
    try {
      await this.#app.listen({ host, port });
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      throw reason === 'EADDRINUSE' ? portTaken({ host, port }, error) : addressUnusable({ host, port, reason }, error);
    }
    observe({ kind: 'http.listening', url: this.url });
  }

  /** Accepts nothing new, lets requests in flight finish, and cuts what is left at the deadline. */
  async drain(deadline: AbortSignal): Promise<void> {
    const cut = (): void => this.#app.server.closeAllConnections();
    deadline.addEventListener('abort', cut, { once: true });
    if (deadline.aborted) cut();
    await this.#close();
    deadline.removeEventListener('abort', cut);
  }

  async stop(): Promise<void> {
    this.#app.server.closeAllConnections();
    await this.#close();
  }

  #close(): Promise<void> {
    return (this.#closed ??= this.#app.close());
  }

  #setUp(): void {
    const app = this.#app;
    const { observe, clock, randomness, handlers } = this.#options;
    app.server.maxConnections = limits.connections;
    app.server.maxHeadersCount = limits.headers;
    app.setValidatorCompiler(compileValidator);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      'application/json',
      { parseAs: 'string' },
      async (_request: FastifyRequest, body: string) => parseJsonBody(body),
    );

    app.decorateRequest('caller', undefined);
    app.decorateRequest('startedMs', 0);
    app.addHook('onRequest', async (request, reply) => {
      request.startedMs = clock.monotonicMs();
      request.trace = continueTrace(request.headers.traceparent as string | undefined, randomness);
      void reply.headers({
        'x-request-id': request.id,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      });
      if (request.url.length > limits.addressBytes) throw addressTooLong({ limitBytes: limits.addressBytes });
      const encoding = request.headers['content-encoding'];
      if (encoding !== undefined && encoding !== 'identity')
        throw mediaTypeUnsupported({ received: `compressed with ${encoding}` });
    });
    app.addHook('onResponse', async (request, reply) => {
      observe({
        kind: 'http.request',
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
        durationMs: clock.monotonicMs() - request.startedMs,
        endedAt: clock.now(),
        keyId: request.caller?.keyId,
        trace: request.trace,
      });
    });
    app.setNotFoundHandler((request) => {
      throw routeNotFound({ method: request.method, path: request.url.split('?')[0] ?? '' });
    });
    app.setErrorHandler((error, request, reply) => this.#refuse(error, request, reply));
    for (const handler of handlers) this.#addRoute(handler);
  }

  #addRoute({ route, answer }: RouteHandler): void {
    const { params, query, body, responses } = route;
    this.#app.route({
      method: route.method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      schema: {
        ...(params && { params }),
        ...(query && { querystring: query }),
        ...(body && { body }),
        response: Object.fromEntries(
          Object.entries(responses).flatMap(([status, { schema, contentType }]) =>
            schema && !contentType ? [[status, schema]] : [],
          ),
        ),
      },
      ...(route.access !== 'public' && { onRequest: (request: FastifyRequest) => this.#admit(request, route.access) }),
      handler: async (request, reply) => {
        const { caller, params, query, body } = request;
        const result = await answer({ caller, params, query, body } as never); // validated against this route's schemas
        const { contentType = 'application/json; charset=utf-8' } = responses[result.status] ?? {};
        void reply.code(result.status);
        if (result.body !== undefined) void reply.type(contentType);
        return reply.send(result.body);
      },
    });
  }

  async #admit(request: FastifyRequest, scope: string): Promise<void> {
    const { authenticator, observe } = this.#options;
    const verdict = await authenticator.judge(request.headers.authorization);
    if ('refused' in verdict) {
      observe({ kind: 'access.refused', requestId: request.id, reason: verdict.refused, keyId: verdict.keyId });
      throw authenticationRequired({});
    }
    request.caller = verdict.caller;
    if (!verdict.caller.scopes.some((held) => held === scope)) {
      observe({ kind: 'access.refused', requestId: request.id, reason: 'scope', keyId: verdict.caller.keyId });
      throw accessDenied({ scope });
    }
  }

  #refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { bodyLimitBytes, observe } = this.#options;
    const refusal = toCodedError(error, { contentType: request.headers['content-type'] ?? '', bodyLimitBytes });
    const { status, body } = toErrorBody(refusal.error ?? error, request.id);
    if (status >= 500)
      observe({ kind: 'http.failed', requestId: request.id, route: request.routeOptions.url ?? 'none', error });
    if (status === 401) void reply.header('www-authenticate', 'Bearer');
    if (isRetryable(refusal.error)) void reply.header('retry-after', retryAfterSeconds);
    return reply
      .code(status)
      .type('application/json; charset=utf-8')
      .serializer((payload: ErrorBody) => JSON.stringify(payload))
      .send({ ...body, ...(refusal.details && { details: refusal.details }) });
  }
}

function isRetryable(error: CodedError | undefined): boolean {
  return isCodedError(error) && error.retryable;
}

function createApp({ bodyLimitBytes, randomness }: HttpServerOptions): FastifyInstance {
  return Fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    routerOptions: { maxParamLength: 512 },
    http: { maxHeaderSize: limits.headerBytes, headersTimeout: limits.headersMs, connectionsCheckingInterval: 1_000 },
    genReqId: ({ headers }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && requestIdPattern.test(given) ? given : randomness.uuid();
    },
    clientErrorHandler(error, socket) {
      if (!socket.writable) return void socket.destroy();
      const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
      const body = JSON.stringify({
        error: 'BAD_REQUEST',
        message: 'the request is not readable HTTP',
        requestId: randomness.uuid(),
      });
      const head = `HTTP/1.1 ${status} Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
      socket.end(head + body);
    },
  });
}
