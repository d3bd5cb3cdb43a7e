import { lookup } from 'node:dns/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { isCodedError, toErrorBody, type CodedError, type ErrorBody } from '@drover/contracts';
import { FastLane, type FastLaneOptions } from '@drover/http-edge';
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
  addressUnusable,
  authenticationRequired,
  portTaken,
  routeNotFound,
  shuttingDown,
} from '../errors.js';
import type { ControlPlaneObservation } from '../observations.js';
import { wasForwarded } from '../replicas/forward-headers.js';
import { shippedLimits, type HttpLimits } from './http-limits.js';
import type { RequestFigures } from './request-figures.js';
import { limitProblem } from './request-limits.js';
import { parseJsonBody } from './json-body.js';
import { OpenConnections } from './open-connections.js';
import type { Origin, RouteHandler } from './route-handler.js';
import { compileValidator } from './schema-validation.js';
import { toCodedError } from './to-coded-error.js';
import { answerUnreadable, toUnreadableError } from './unreadable-request.js';

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly bodyLimitBytes: number;
  /** The shipped ones unless told otherwise. */
  readonly limits?: HttpLimits;
  readonly handlers: readonly RouteHandler[];
  /** Stands before everything else: true when it has taken care of the request. */
  readonly front?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** The same for requests that are plain enough for the fast lane in front of Node's server. Without it there is no lane. */
  readonly fastLane?: FastLaneOptions['serve'] | undefined;
  /** Called with the URL once the port listens. */
  readonly onListening?: (url: string) => void;
  readonly authenticator: Authenticator;
  readonly figures: RequestFigures;
  /** Whether the process is about to end: connections then end with their answers, so that clients go elsewhere. */
  readonly isEnding?: () => boolean;
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

const retryAfterSeconds = '1';
/** What the fast lane accepts in one piece. */
const requestBytes = 65_536;
const requestIdPattern = /^[\w.:-]{1,128}$/;

/** The public HTTP port: every route denies who lacks its scope, and every error has one shape. */
export class HttpServer implements Lifecycle {
  readonly name = 'http server';
  readonly #options: HttpServerOptions;
  readonly #limits: HttpLimits;
  readonly #app: FastifyInstance;
  readonly #connections: OpenConnections;
  readonly #lane: FastLane | undefined;
  /** The answer to the latest request of each connection. */
  readonly #answers = new WeakMap<Socket, ServerResponse>();
  #closed: Promise<void> | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#limits = options.limits ?? shippedLimits;
    this.#app = this.#createApp();
    this.#setUp();
    const { server } = this.#app;
    const { fastLane, clock } = options;
    this.#connections = new OpenConnections(server);
    // Last: whoever listens for connections now gets those that the lane does not keep.
    if (fastLane)
      this.#lane = new FastLane(server, { limits: { ...this.#limits, requestBytes }, clock, serve: fastLane });
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
      // One address, looked up here: for a name with several the framework opens further servers, without our limits.
      const { address } = await lookup(host);
      await this.#app.listen({ host: address, port });
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      throw reason === 'EADDRINUSE' ? portTaken({ host, port }, error) : addressUnusable({ host, port, reason }, error);
    }
    this.#options.onListening?.(this.url);
    observe({ kind: 'http.listening', url: this.url });
  }

  /** Accepts nothing new, lets requests in flight finish, and cuts what is left at the deadline. */
  async drain(deadline: AbortSignal): Promise<void> {
    const closed = this.#close();
    const cut = (): void => this.#cut();
    deadline.addEventListener('abort', cut, { once: true });
    if (deadline.aborted) cut();
    await closed;
    deadline.removeEventListener('abort', cut);
  }

  async stop(): Promise<void> {
    const closed = this.#close();
    this.#cut();
    await closed;
  }

  #cut(): void {
    this.#lane?.cut();
    this.#app.server.closeAllConnections();
  }

  #close(): Promise<void> {
    if (this.#closed) return this.#closed;
    // The framework would close the port a little later: a connection made until then could be missed by a cut.
    if (this.#app.server.listening) this.#app.server.close();
    this.#lane?.close();
    this.#connections.close();
    return (this.#closed = this.#app.close());
  }

  #setUp(): void {
    const app = this.#app;
    const limits = this.#limits;
    const { observe, clock, randomness, handlers, figures } = this.#options;
    app.server.maxConnections = limits.connections;
    if (this.#options.front) this.#putInFront(this.#options.front);
    // Node drops what is above this number without a word: one more than allowed is how we notice.
    app.server.maxHeadersCount = limits.headers + 1;
    // An expectation nobody here knows may be ignored; Node's own refusal would have another shape.
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
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
      addCommonHeaders(request, reply);
      if (this.#closed) throw shuttingDown({});
      const problem = limitProblem(request.raw, limits);
      if (problem) throw problem;
    });
    app.addHook('onSend', async (_request, reply) => {
      // Otherwise a client that keeps its connection would hold up the drain for as long as it may be idle.
      if (this.#closed ?? this.#options.isEnding?.()) void reply.header('connection', 'close');
    });
    app.addHook('onResponse', async (request, reply) => {
      const durationMs = clock.monotonicMs() - request.startedMs;
      figures.note(request.method, request.routeOptions.url ?? 'none', reply.statusCode, durationMs);
      observe({
        kind: 'http.request',
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
        durationMs,
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
      // To the router a colon begins a parameter, and two of them are one.
      url: route.path.replaceAll(':', '::').replaceAll(/\{(\w+)\}/g, ':$1'),
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
        const origin: Origin = {
          address: request.url,
          authorization: request.headers.authorization,
          isForwarded: wasForwarded(request),
        };
        const result = await answer({ caller, params, query, body, origin } as never); // validated against this route's schemas
        const { contentType = 'application/json; charset=utf-8' } = responses[result.status] ?? {};
        void reply.code(result.status);
        if (result.body !== undefined) void reply.type(contentType);
        return reply.send(result.body);
      },
    });
  }

  async #admit(request: FastifyRequest, scope: string): Promise<void> {
    const { authenticator, observe } = this.#options;
    const authentication = await authenticator.authenticate(request.headers.authorization);
    if ('refused' in authentication) {
      observe({
        kind: 'access.refused',
        requestId: request.id,
        reason: authentication.refused,
        keyId: authentication.keyId,
      });
      throw authenticationRequired({});
    }
    request.caller = authentication.caller;
    if (!authentication.caller.scopes.some((held) => held === scope)) {
      observe({ kind: 'access.refused', requestId: request.id, reason: 'scope', keyId: authentication.caller.keyId });
      throw accessDenied({ scope });
    }
  }

  #refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { bodyLimitBytes, observe } = this.#options;
    const refusal = toCodedError(error, {
      contentType: request.headers['content-type'] ?? '',
      bodyLimitBytes,
      addressLimitBytes: this.#limits.addressBytes,
    });
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

  /** The framework would read bodies that are not for it. */
  #putInFront(front: NonNullable<HttpServerOptions['front']>): void {
    const { server } = this.#app;
    const behind = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#answers.set(request.socket, response);
      if (front(request, response)) return;
      for (const listener of behind) listener.call(server, request, response);
    });
  }

  #createApp(): FastifyInstance {
    const limits = this.#limits;
    const { bodyLimitBytes, randomness, observe } = this.#options;
    const answers = this.#answers;
    return Fastify({
      bodyLimit: bodyLimitBytes,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      forceCloseConnections: 'idle',
      return503OnClosing: false, // the framework's answer has another shape; ours is in the first hook
      exposeHeadRoutes: false, // served is what the OpenAPI document lists, and nothing else
      routerOptions: { maxParamLength: limits.addressBytes },
      http: {
        maxHeaderSize: limits.headerBytes,
        headersTimeout: limits.headersMs,
        connectionsCheckingInterval: limits.checkEveryMs,
        requireHostHeader: false, // required all the same, with an answer of our shape
      },
      genReqId: ({ headers }) => {
        const given = headers['x-request-id'];
        return typeof given === 'string' && requestIdPattern.test(given) ? given : randomness.uuid();
      },
      // Addresses that the router cannot read: no hook sees these.
      frameworkErrors: (error, request, reply) => {
        addCommonHeaders(request, reply);
        this.#refuse(error, request, reply);
        observe({ kind: 'http.unreadable', requestId: request.id, status: reply.statusCode, reason: error.code });
      },
      clientErrorHandler(error, socket) {
        if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
        const answer = answers.get(socket);
        // The rest of a request that was refused before it was complete: one answer is enough.
        if (answer?.headersSent && !answer.req.complete) return socket.destroySoon();
        const refusal = toUnreadableError(error.code, limits);
        const requestId = randomness.uuid();
        answerUnreadable(socket, refusal, requestId);
        observe({ kind: 'http.unreadable', requestId, status: refusal.status, reason: error.code });
      },
    });
  }
}

function addCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers({
    'x-request-id': request.id,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
}

function isRetryable(error: CodedError | undefined): boolean {
  return isCodedError(error) && error.retryable;
}
