import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { EventStream } from '../grpc/event-stream.js';
import { GrpcStatus } from '../grpc/grpc-status.js';
import { eventStreamPath, isGrpcContentType } from '../grpc/headers.js';
import { keepAlive, type KeepAlive } from '../grpc/keep-alive.js';
import { defaultStreamLimits, maxFirstMessageBytes, windows, type StreamLimits } from '../grpc/limits.js';
import { addressOf, peerOf, type Peer } from '../grpc/peer.js';
import { ServerSide } from '../grpc/stream-side.js';
import type { TlsCredentials } from '../grpc/tls-credentials.js';
import {
  createLoopbackServer,
  createTlsServer,
  isLoopback,
  listen,
  secureContext,
  type AnyServer,
  type Listener,
  type TlsListener,
} from './listeners.js';
import { refuseCall, refuseHttp, type Refusal } from './refusal.js';
import { settlementMethods, type SettlementHandlers } from './settlement.js';
import { answerUnary } from './unary-call.js';
import type { UnaryMethod } from './unary-method.js';

/** What a FunctionRpcServer may be told. */
export interface FunctionRpcServerOptions {
  /** Called for every stream; it has to `start` the stream, and to raise its `maxMessageBytes` once the worker is known. */
  readonly onStream: (stream: EventStream) => void;
  /** Without them the Settlement service is unimplemented. */
  readonly settlement?: SettlementHandlers;
  readonly onRefused?: (refusal: Refusal) => void;
  readonly limits?: Partial<ServerLimits>;
  readonly keepAlive?: KeepAlive;
}

/** What peers may take up. */
export interface ServerLimits extends StreamLimits {
  readonly maxConnections: number;
  readonly maxStreamsPerConnection: number;
  /** A connection without a stream is closed after this time. */
  readonly idleConnectionMs: number;
}

const defaultLimits: ServerLimits = {
  ...defaultStreamLimits,
  maxMessageBytes: maxFirstMessageBytes,
  maxConnections: 1_000,
  maxStreamsPerConnection: 100,
  idleConnectionMs: 10_000,
};

/** How long peers have to take in that the server stopped. */
const farewellMs = 500;

/**
 * The host's end of FunctionRpc: any number of addresses, one `onStream`.
 *
 * It lets streams in and says why others stay out; who a worker is and what it may do is not its business. Nothing a peer
 * does throws here, and no peer hears more of an error than its status.
 */
export class FunctionRpcServer {
  readonly #options: FunctionRpcServerOptions;
  readonly #limits: ServerLimits;
  readonly #methods: ReadonlyMap<string, UnaryMethod>;
  readonly #servers = new Set<AnyServer>();
  readonly #sessions = new Map<ServerHttp2Session, Peer>();
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Set<ServerHttp2Stream>();
  readonly #eventStreams = new Set<EventStream>();
  #isDraining = false;

  constructor(options: FunctionRpcServerOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#methods = options.settlement ? settlementMethods(options.settlement) : new Map();
  }

  /** Listens on this machine only, without TLS; port 0 takes a free one. */
  async listenLoopback({ host = '127.0.0.1', port = 0 }: Partial<Listener> = {}): Promise<Listener> {
    if (!isLoopback(host)) throw new RangeError(`${host} can be reached from other machines: use listenTls`);
    const server = createLoopbackServer(this.#limits.maxStreamsPerConnection);
    return await this.#listen(server, 'loopback', { host, port });
  }

  /** Listens for peers that have a certificate of the given authority. */
  async listenTls(options: Partial<Listener> & TlsCredentials): Promise<TlsListener> {
    const server = createTlsServer(this.#limits.maxStreamsPerConnection, options);
    server.on('tlsClientError', (cause, socket) => {
      // A certificate that is not trusted shows as a hang-up, and the reason on the socket.
      const untrusted = socket.authorizationError as Error | string | null | undefined; // not always an Error
      const reason = untrusted == null ? cause.message.trim() : `the certificate is not trusted: ${String(untrusted)}`;
      this.#refuse({ kind: 'tls', address: addressOf(socket), reason, cause });
    });
    const listener = await this.#listen(server, 'tls', { host: options.host ?? '0.0.0.0', port: options.port ?? 0 });
    return { ...listener, renew: (credentials) => server.setSecureContext(secureContext(credentials)) };
  }

  /** Streams and calls that are open. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** Takes no new connections and calls; resolves when none is open, or when the deadline aborts. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#isDraining = true;
    for (const server of this.#servers) server.close();
    const all = Promise.all(
      [...this.#streams].map((stream) => new Promise((resolve) => stream.once('close', resolve))),
    );
    await Promise.race([all, new Promise<void>((resolve) => whenAborted(deadline, resolve))]);
  }

  /** Ends every stream and closes every connection and address. May be called twice, and without `drain`. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    const closed = [...this.#servers].map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    this.#servers.clear();
    for (const stream of this.#eventStreams) stream.destroy(GrpcStatus.UNAVAILABLE, 'the server stopped');
    for (const session of this.#sessions.keys()) session.close();
    // Not the sessions: one that was told to close does not let go of its socket before the peer does.
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, farewellMs);
    await Promise.all(closed);
    clearTimeout(cut);
  }

  async #listen(server: AnyServer, kind: Peer['kind'], where: Listener): Promise<Listener> {
    server.maxConnections = this.#limits.maxConnections;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('session', (session: ServerHttp2Session) => this.#admit(session, kind));
    server.on('sessionError', (cause: Error, session: ServerHttp2Session) => {
      const address = this.#sessions.get(session)?.address ?? 'unknown';
      this.#refuse({ kind: 'session', address, reason: cause.message, cause });
    });
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => this.#route(stream, headers));
    const listener = await listen(server, where);
    this.#servers.add(server);
    return listener;
  }

  #admit(session: ServerHttp2Session, kind: Peer['kind']): void {
    const peer = peerOf(session, kind);
    if (!peer) return session.destroy();
    this.#sessions.set(session, peer);
    session.once('close', () => this.#sessions.delete(session));
    session.setLocalWindowSize(windows.connectionBytes);
    session.setTimeout(this.#limits.idleConnectionMs);
    session.on('timeout', () => {
      if (![...this.#streams].some((stream) => stream.session === session)) session.destroy();
    });
    keepAlive(session, this.#options.keepAlive);
  }

  #route(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    stream.on('error', () => undefined); // its close tells
    const { ':method': method, ':path': path = '', 'content-type': contentType } = headers;
    const peer = stream.session && this.#sessions.get(stream.session as ServerHttp2Session); // it is the server's
    if (!peer) return stream.close();
    const { address } = peer;
    if (method !== 'POST') {
      refuseHttp(stream, 405, { allow: 'POST' });
      return this.#refuse({ kind: 'method', address, reason: `${String(method)} is not a call` });
    }
    if (!isGrpcContentType(contentType)) {
      refuseHttp(stream, 415);
      return this.#refuse({ kind: 'contentType', address, reason: `${contentType ?? 'no content type'} is not gRPC` });
    }
    if (this.#isDraining) {
      refuseCall(stream, contentType, GrpcStatus.UNAVAILABLE, 'the server is about to stop');
      return this.#refuse({ kind: 'draining', address, reason: 'the server is about to stop' });
    }
    const unary = this.#methods.get(path);
    if (path === eventStreamPath) this.#openStream(stream, peer, contentType);
    else if (unary) void this.#answer(stream, unary, { peer, contentType });
    else {
      refuseCall(stream, contentType, GrpcStatus.UNIMPLEMENTED, 'there is no such method');
      this.#refuse({ kind: 'path', address, reason: `there is no method ${path.slice(0, 200)}` });
    }
  }

  #openStream(http2: ServerHttp2Stream, peer: Peer, contentType: string): void {
    http2.respond({ ':status': 200, 'content-type': contentType }, { waitForTrailers: true });
    const stream = new EventStream(http2, { side: new ServerSide(http2), peer, limits: this.#limits });
    this.#eventStreams.add(stream);
    http2.once('close', () => this.#eventStreams.delete(stream));
    try {
      this.#options.onStream(stream);
    } catch (cause) {
      stream.destroy(GrpcStatus.INTERNAL, 'the stream could not be taken');
      this.#refuse({ kind: 'handler', address: peer.address, reason: 'onStream failed', cause });
    }
  }

  async #answer(
    stream: ServerHttp2Stream,
    method: UnaryMethod,
    from: { readonly peer: Peer; readonly contentType: string },
  ): Promise<void> {
    const onFailure = (cause: unknown): void =>
      this.#refuse({ kind: 'handler', address: from.peer.address, reason: 'a unary call failed', cause });
    await answerUnary(stream, { method, ...from, onFailure });
  }

  #refuse(refusal: Refusal): void {
    this.#options.onRefused?.(refusal);
  }
}

function whenAborted(signal: AbortSignal, then: () => void): void {
  if (signal.aborted) then();
  else signal.addEventListener('abort', then, { once: true });
}
