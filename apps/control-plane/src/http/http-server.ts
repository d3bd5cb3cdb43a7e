import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { accessDenied, authenticationRequired, type Authenticator, type Caller } from '@drover/collection-engine';
import { holdsScope, isRecordsImport, type Scope } from '@drover/contracts';
import {
  answerUnreadable,
  HttpPort,
  limitProblem,
  mediaTypeUnsupported,
  requestIdOf,
  serverOptions,
  shuttingDown,
  toErrorAnswer,
  toUnreadableError,
  UploadingConnections,
  type ConnectionChannel,
  type FastLaneOptions,
  type PortLimits,
  type RequestDurations,
  publicPortLimits,
} from '@drover/http-edge';
import {
  continueTrace,
  type Clock,
  type Lifecycle,
  type Observe,
  type Randomness,
  type TraceContext,
} from '@drover/service-kit';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { addressUnusable, portTaken, routeNotFound } from '../errors.js';
import type { ControlPlaneObservation } from '../observations.js';
import { wasForwarded } from '../replicas/forward-headers.js';
import { parseJsonBody } from './json-body.js';
import type { Origin, RouteHandler } from './route-handler.js';
import { compileSerializer, compileValidator } from './route-schemas.js';
import { dropUnsetFields } from './unset-fields.js';
import { toCodedError } from './to-coded-error.js';

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly bodyLimitBytes: number;
  /** `publicPortLimits` unless given. */
  readonly limits?: PortLimits;
  readonly handlers: readonly RouteHandler[];
  /** Asked before the routes. Returns true for requests that it answers itself. */
  readonly front?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** The same for requests of the fast lane. Without it there is no fast lane. */
  readonly fastLane?: FastLaneOptions['serve'] | undefined;
  /** Gives back connections of this port that were passed to another process. */
  readonly connections?: ConnectionChannel | undefined;
  /** Called with the URL once the port listens. */
  readonly onListening?: (url: string) => void;
  readonly authenticator: Authenticator;
  readonly durations: RequestDurations;
  /** Whether the process is stopping: connections then close after their answers, so that clients connect elsewhere. */
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
  interface FastifyContextConfig {
    /** The body is a file. */
    isUpload?: boolean;
  }
}

/** The public HTTP port. Every route rejects callers without its scope, and every error has one shape. */
export class HttpServer implements Lifecycle {
  readonly name = 'http server';
  readonly #options: HttpServerOptions;
  readonly #limits: PortLimits;
  readonly #uploads: UploadingConnections;
  readonly #app: FastifyInstance;
  readonly #port: HttpPort;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#limits = options.limits ?? publicPortLimits;
    this.#uploads = new UploadingConnections(options.clock);
    this.#app = this.#createApp();
    this.#setUp();
    const { server } = this.#app;
    const { host, port, fastLane: serveFastLane, clock } = options;
    this.#port = new HttpPort(server, {
      host,
      port,
      limits: this.#limits,
      serveFastLane,
      listen: (address) => this.#app.listen(address),
      closed: () => this.#app.close(),
      clock,
    });
    if (options.connections) this.#port.takeBackFrom(options.connections);
  }

  /** The URL at which it listens; known once it has started. */
  get url(): string {
    return this.#port.url;
  }

  async start(): Promise<void> {
    const { host, port, observe, onListening } = this.#options;
    try {
      await this.#port.listen();
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      throw reason === 'EADDRINUSE' ? portTaken({ host, port }, error) : addressUnusable({ host, port, reason }, error);
    }
    onListening?.(this.url);
    observe({ kind: 'http.listening', url: this.url });
  }

  /** Accepts no new connections, completes requests in flight, and closes the rest at the deadline. */
  drain(deadline: AbortSignal): Promise<void> {
    return this.#port.drain(deadline);
  }

  stop(): Promise<void> {
    return this.#port.stop();
  }

  #setUp(): void {
    const app = this.#app;
    const limits = this.#limits;
    const { observe, clock, randomness, handlers, durations } = this.#options;
    if (this.#options.front) this.#putInFront(this.#options.front);
    app.setValidatorCompiler(compileValidator).setSerializerCompiler(compileSerializer);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      'application/json',
      { parseAs: 'string' },
      async (request: FastifyRequest, body: string) => (takesNothing(request, body) ? undefined : parseJsonBody(body)),
    );
    // Not read here: the handler of the route takes the bytes as they arrive, and limits them.
    for (const contentType of new Set(handlers.flatMap(({ route }) => route.upload?.contentType ?? [])))
      app.addContentTypeParser(contentType, async (request: FastifyRequest, file: IncomingMessage) => {
        if (request.routeOptions.config.isUpload) {
          this.#uploads.begin(file);
          return file;
        }
        throw mediaTypeUnsupported({ received: contentType });
      });
    app.addContentTypeParser('*', { parseAs: 'string' }, async (request: FastifyRequest, body: string) => {
      if (takesNothing(request, body)) return;
      throw mediaTypeUnsupported({
        received: request.headers['content-type']?.slice(0, 100) ?? 'without a content type',
      });
    });

    app.decorateRequest('caller', undefined);
    app.decorateRequest('startedMs', 0);
    app.addHook('onRequest', async (request, reply) => {
      request.startedMs = clock.monotonicMs();
      request.trace = continueTrace(request.headers.traceparent as string | undefined, randomness);
      addCommonHeaders(request, reply);
      if (this.#port.isClosing) throw shuttingDown({});
      const problem = limitProblem(request.raw, limits);
      if (problem) throw problem;
    });
    app.addHook('onSend', async (_request, reply) => {
      // Otherwise a client that keeps its connection open would hold up the drain for as long as it may be idle.
      if (this.#port.isClosing || this.#options.isEnding?.()) void reply.header('connection', 'close');
    });
    app.addHook('onResponse', async (request, reply) => {
      const durationMs = clock.monotonicMs() - request.startedMs;
      durations.record(request.method, request.routeOptions.url ?? 'none', reply.statusCode, durationMs);
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
    const { params, query, body, upload, responses, access } = route;
    this.#app.route({
      method: route.method,
      ...(upload && { config: { isUpload: true }, bodyLimit: Number.MAX_SAFE_INTEGER }),
      // In the router's patterns a colon begins a parameter, and two colons are a literal one.
      url: route.path.replaceAll(':', '::').replaceAll(/\{(\w+)\}/g, ':$1'),
      schema: {
        ...(params && { params }),
        ...(query && { querystring: query }),
        ...(body && route.bodyCheck === undefined && { body }),
        response: Object.fromEntries(
          Object.entries(responses).flatMap(([status, { schema, contentType }]) =>
            schema && !contentType ? [[status, schema]] : [],
          ),
        ),
      },
      ...(access !== 'public' && { onRequest: (request: FastifyRequest) => this.#admit(request, access) }),
      handler: async (request, reply) => {
        const { caller, params, query, body } = request;
        const origin: Origin = {
          address: request.url,
          authorization: request.headers.authorization,
          isForwarded: wasForwarded(request),
          prefer: request.headers.prefer?.toString(),
        };
        const file = upload && uploadedFile(body, upload.contentType);
        if (route.bodyCheck && route.body) dropUnsetFields(body, route.body);
        const result = await answer({ caller, params, query, body, upload: file, origin } as never); // validated against this route's schemas
        const { contentType = 'application/json; charset=utf-8' } = responses[result.status] ?? {};
        void reply.code(result.status).headers(result.headers ?? {});
        if (result.body !== undefined) void reply.type(contentType);
        return reply.send(result.body);
      },
    });
  }

  async #admit(request: FastifyRequest, scope: Scope): Promise<void> {
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
    const { collection } = request.params as { readonly collection?: string }; // routes about one collection name it so
    if (!holdsScope(authentication.caller.scopes, scope, collection)) {
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
    const { status, headers, body } = toErrorAnswer(refusal.error ?? error, request.id, { details: refusal.details });
    if (status >= 500)
      observe({ kind: 'http.failed', requestId: request.id, route: request.routeOptions.url ?? 'none', error });
    if (status === 401) headers.push('www-authenticate', 'Bearer');
    for (let index = 0; index + 1 < headers.length; index += 2)
      void reply.header(headers[index] ?? '', headers[index + 1]);
    // The framework closes the connection if it did not read the whole body. That would reset it while the client is sending,
    // and most clients then lose the answer: the rest is dropped as it arrives, for as long as a request may take.
    void reply.removeHeader('connection');
    request.raw.resume();
    return reply.code(status).send(body);
  }

  /** Asks `front` before the framework, which would read the bodies of requests that are not its own. */
  #putInFront(front: NonNullable<HttpServerOptions['front']>): void {
    const { server } = this.#app;
    const behind = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (isRecordsImport(request.method, request.url)) this.#uploads.begin(request);
      if (front(request, response)) return;
      for (const listener of behind) listener.call(server, request, response);
    });
  }

  #createApp(): FastifyInstance {
    const limits = this.#limits;
    const { bodyLimitBytes, randomness, observe } = this.#options;
    return Fastify({
      bodyLimit: bodyLimitBytes,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      forceCloseConnections: 'idle',
      return503OnClosing: false, // its answer has another shape than our errors; the first hook answers instead
      exposeHeadRoutes: false, // only what the OpenAPI document lists is served
      routerOptions: { maxParamLength: limits.addressBytes },
      http: serverOptions(limits),
      genReqId: ({ headers }) => requestIdOf(headers, randomness),
      // For paths that the router cannot decode, which no hook sees.
      frameworkErrors: (error, request, reply) => {
        addCommonHeaders(request, reply);
        this.#refuse(error, request, reply);
        observe({ kind: 'http.unreadable', requestId: request.id, status: reply.statusCode, reason: error.code });
      },
      clientErrorHandler: (error, socket) => {
        if (this.#uploads.isExempt(socket, error.code)) return;
        this.#port.connections.refuseRest(socket, error, () => {
          const refusal = toUnreadableError(error.code, limits);
          const requestId = randomness.uuid();
          answerUnreadable(socket, refusal, requestId);
          observe({ kind: 'http.unreadable', requestId, status: refusal.status, reason: error.code });
        });
      },
    });
  }
}

/** A request without a body has no content type that would be refused. */
function uploadedFile(body: unknown, contentType: string): AsyncIterable<Uint8Array> {
  // A handler that stops reading must not close the connection: the caller still gets its answer.
  if (body instanceof Readable) return body.iterator({ destroyOnReturn: false });
  throw mediaTypeUnsupported({ received: 'empty', expected: contentType });
}

/** Many clients send a content type with every request, also with one that has no body. */
function takesNothing({ routeOptions }: FastifyRequest, body: string): boolean {
  return body === '' && routeOptions.schema?.body === undefined;
}

function addCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers({
    'x-request-id': request.id,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
}
