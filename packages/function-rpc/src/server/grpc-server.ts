import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { isLoopback } from '@drover/service-kit';
import { GrpcStatus } from '../grpc/grpc-status.js';
import type { GrpcStreamOptions } from '../grpc/grpc-stream.js';
import { isGrpcContentType, type GrpcEncoding } from '../grpc/headers.js';
import { keepAlive, type KeepAlive } from '../grpc/keep-alive.js';
import { defaultStreamLimits, maxFirstMessageBytes, windows, type StreamLimits } from '../grpc/limits.js';
import { addressOf, peerOf, type Peer, type TlsCredentials } from '../grpc/peer.js';
import { ServerSide } from '../grpc/stream-side.js';
import {
  createLoopbackServer,
  createTlsServer,
  listen,
  secureContext,
  type AnyServer,
  type Listener,
  type TlsListener,
} from './listeners.js';
import { refuseCall, refuseHttp, type RpcRefusal } from './refusal.js';
import { answerUnary, type UnaryMethod } from './unary-call.js';

/** A stream of the one bidirectional method that a server has. */
interface ServedStream {
  destroy(status: GrpcStatus, reason: string): void;
}

/** Options of a GrpcServer. */
export interface GrpcServerOptions<Stream extends ServedStream> {
  /** Path of the bidirectional method: `/package.Service/Method`. */
  readonly path: string;
  readonly encoding: GrpcEncoding;
  /** Creates the stream of a call of that method. */
  readonly createStream: (http2: ServerHttp2Stream, options: GrpcStreamOptions) => Stream;
  /** Called for every stream. It must start the stream. */
  readonly onStream: (stream: Stream) => void;
  /** Returns why a call is refused; undefined if it is not. Default: none is. */
  readonly refusalOf?: (
    headers: IncomingHttpHeaders,
  ) => { readonly status: GrpcStatus; readonly reason: string } | undefined;
  /** Methods with one request and one response, by path. */
  readonly unary?: ReadonlyMap<string, UnaryMethod>;
  readonly onRefused?: ((refusal: RpcRefusal) => void) | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  readonly keepAlive?: KeepAlive | undefined;
}

/** Limits on what peers may use. */
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

/** How long peers may take to close their connections after the server stopped. */
const stopGraceMs = 500;

/**
 * Serves the calls of one bidirectional method, and unary ones, on any number of addresses.
 *
 * Admits streams and reports why others are refused. Nothing that a peer does throws here, and a peer learns no more about an
 * error than its status.
 */
export class GrpcServer<Stream extends ServedStream> {
  readonly #options: GrpcServerOptions<Stream>;
  readonly #limits: ServerLimits;
  readonly #servers = new Set<AnyServer>();
  readonly #sessions = new Map<ServerHttp2Session, Peer>();
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Set<ServerHttp2Stream>();
  readonly #opened = new Set<Stream>();
  #isDraining = false;

  constructor(options: GrpcServerOptions<Stream>) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  /** Listens on a loopback address, without TLS. Port 0 chooses a free one. */
  async listenLoopback({ host = '127.0.0.1', port = 0 }: Partial<Listener> = {}): Promise<Listener> {
    if (!isLoopback(host)) throw new RangeError(`${host} is not a loopback address. Use listenTls.`);
    const server = createLoopbackServer(this.#limits.maxStreamsPerConnection);
    return await this.#listen(server, 'loopback', { host, port });
  }

  /** Listens for peers with a certificate of the given authority. */
  async listenTls(options: Partial<Listener> & TlsCredentials): Promise<TlsListener> {
    const server = createTlsServer(this.#limits.maxStreamsPerConnection, options);
    server.on('tlsClientError', (cause, socket) => {
      // An untrusted certificate shows as a hang-up here; the reason is on the socket.
      const untrusted = socket.authorizationError as Error | string | null | undefined; // not always an Error
      const reason = untrusted == null ? cause.message.trim() : `the certificate is not trusted: ${String(untrusted)}`;
      this.#refuse({ kind: 'tls', address: addressOf(socket), reason, cause });
    });
    const listener = await this.#listen(server, 'tls', { host: options.host ?? '0.0.0.0', port: options.port ?? 0 });
    return { ...listener, renew: (credentials) => server.setSecureContext(secureContext(credentials)) };
  }

  /** The number of open streams and calls. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** Refuses new connections and calls. Resolves when no call is open, or when the deadline aborts. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#isDraining = true;
    for (const server of this.#servers) server.close();
    const all = Promise.all(
      [...this.#streams].map((stream) => new Promise((resolve) => stream.once('close', resolve))),
    );
    await Promise.race([all, new Promise<void>((resolve) => whenAborted(deadline, resolve))]);
  }

  /** Ends every stream and closes every connection and address. Safe to call twice, and without `drain`. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    const closed = [...this.#servers].map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    this.#servers.clear();
    for (const stream of this.#opened) stream.destroy(GrpcStatus.UNAVAILABLE, 'the server stopped');
    for (const session of this.#sessions.keys()) session.close();
    // Sockets, not sessions: a closing session keeps its socket until the peer closes it.
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, stopGraceMs);
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
    stream.on('error', () => undefined); // the close event follows
    const { ':method': verb, ':path': path = '', 'content-type': contentType } = headers;
    const peer = stream.session && this.#sessions.get(stream.session as ServerHttp2Session); // the stream belongs to a server
    if (!peer) return stream.close();
    const { address } = peer;
    if (verb !== 'POST') {
      refuseHttp(stream, 405, { allow: 'POST' });
      return this.#refuse({ kind: 'method', address, reason: `${String(verb)} is not a gRPC method; only POST is` });
    }
    const { encoding, path: streamPath, unary, refusalOf } = this.#options;
    if (!isGrpcContentType(contentType, encoding)) {
      refuseHttp(stream, 415);
      return this.#refuse({ kind: 'contentType', address, reason: `${contentType ?? 'no content type'} is not gRPC` });
    }
    if (this.#isDraining) {
      refuseCall(stream, contentType, GrpcStatus.UNAVAILABLE, 'the server is draining');
      return this.#refuse({ kind: 'draining', address, reason: 'the server is draining' });
    }
    const refusal = refusalOf?.(headers);
    if (refusal) {
      refuseCall(stream, contentType, refusal.status, refusal.reason);
      return this.#refuse({ kind: 'caller', address, reason: refusal.reason });
    }
    const method = unary?.get(path);
    if (path === streamPath) this.#openStream(stream, peer, contentType);
    else if (method) void this.#answer(stream, method, { peer, contentType });
    else {
      refuseCall(stream, contentType, GrpcStatus.UNIMPLEMENTED, 'there is no such method');
      this.#refuse({ kind: 'path', address, reason: `there is no method ${path.slice(0, 200)}` });
    }
  }

  #openStream(http2: ServerHttp2Stream, peer: Peer, contentType: string): void {
    http2.respond({ ':status': 200, 'content-type': contentType }, { waitForTrailers: true });
    const stream = this.#options.createStream(http2, { side: new ServerSide(http2), peer, limits: this.#limits });
    this.#opened.add(stream);
    http2.once('close', () => this.#opened.delete(stream));
    try {
      this.#options.onStream(stream);
    } catch (cause) {
      stream.destroy(GrpcStatus.INTERNAL, 'the stream could not be accepted');
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

  #refuse(refusal: RpcRefusal): void {
    this.#options.onRefused?.(refusal);
  }
}

function whenAborted(signal: AbortSignal, then: () => void): void {
  if (signal.aborted) then();
  else signal.addEventListener('abort', then, { once: true });
}
