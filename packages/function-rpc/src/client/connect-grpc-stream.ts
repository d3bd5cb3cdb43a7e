import { connect, type ClientHttp2Session, type ClientHttp2Stream, type ClientSessionOptions } from 'node:http2';
import type { Socket } from 'node:net';
import { GrpcStatus } from '../grpc/grpc-status.js';
import type { GrpcStreamOptions } from '../grpc/grpc-stream.js';
import { grpcContentType, type GrpcEncoding } from '../grpc/headers.js';
import { keepAlive, type KeepAlive } from '../grpc/keep-alive.js';
import {
  defaultStreamLimits,
  maxHeaderListBytes,
  maxSessionMemory,
  windows,
  type StreamLimits,
} from '../grpc/limits.js';
import { peerOf, type Peer } from '../grpc/peer.js';
import { ClientSide } from '../grpc/stream-side.js';
import { openSocket, type ClientTls } from './open-socket.js';

/** How long the host may take to close the connection after the stream closed. */
const closeGraceMs = 1_000;

/** How to connect to a host. */
export interface ConnectOptions {
  /** `http://127.0.0.1:port`, or `https://…` together with `tls`. */
  readonly url: string | URL;
  readonly tls?: ClientTls;
  /** Aborts the attempt, or later the stream. */
  readonly signal?: AbortSignal;
  readonly limits?: Partial<StreamLimits>;
  readonly keepAlive?: KeepAlive;
}

/** The bidirectional method to call, and how its stream is created. */
export interface GrpcCall<Stream> {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly encoding: GrpcEncoding;
  /** Metadata of the call, in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly createStream: (http2: ClientHttp2Stream, options: GrpcStreamOptions) => Stream;
}

interface AbortableStream {
  destroy(status: GrpcStatus, reason: string): void;
}

/** Connects to a host and opens the stream. Rejects when the connection fails or the host refuses it. */
export async function connectGrpcStream<Stream extends AbortableStream>(
  options: ConnectOptions,
  call: GrpcCall<Stream>,
): Promise<Stream> {
  const { signal } = options;
  signal?.throwIfAborted();
  const url = new URL(options.url);
  const socket = openSocket(url, options.tls);
  const giveUp = (): void => void socket.destroy(new Error('the attempt to connect was aborted'));
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    const session = connect(url, { ...sessionOptions, createConnection: () => socket });
    await accepted(session, socket);
    session.setLocalWindowSize(windows.connectionBytes);
    keepAlive(session, options.keepAlive);
    const peer = peerOf(session, options.tls ? 'tls' : 'loopback');
    if (!peer) throw new Error('the host closed the connection');
    return openStream(session, call, { ...options, socket, peer });
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

const sessionOptions: ClientSessionOptions = {
  maxSessionMemory,
  settings: { initialWindowSize: windows.streamBytes, maxHeaderListSize: maxHeaderListBytes, enablePush: false },
};

/** Resolves when the host has sent its settings: before that it may hang up or refuse the certificate. */
function accepted(session: ClientHttp2Session, socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    session.on('error', reject);
    // A session does not report every error of its socket.
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('the host closed the connection')));
    session.once('remoteSettings', () => resolve());
  });
}

function openStream<Stream extends AbortableStream>(
  session: ClientHttp2Session,
  { path, encoding, headers, createStream }: GrpcCall<Stream>,
  { socket, peer, limits, signal }: ConnectOptions & { readonly socket: Socket; readonly peer: Peer },
): Stream {
  const cancelled = new AbortController();
  const http2 = session.request(
    { ...headers, ':method': 'POST', ':path': path, 'content-type': grpcContentType(encoding), te: 'trailers' },
    { endStream: false, signal: cancelled.signal },
  );
  const stream = createStream(http2, {
    side: new ClientSide(http2, () => cancelled.abort()),
    peer,
    limits: { ...defaultStreamLimits, ...limits },
  });
  const abort = (): void => stream.destroy(GrpcStatus.CANCELLED, 'the signal was aborted');
  signal?.addEventListener('abort', abort, { once: true });
  http2.once('close', () => {
    signal?.removeEventListener('abort', abort);
    session.close();
    // After a TLS error neither session nor socket closes by itself.
    setTimeout(() => socket.destroy(), closeGraceMs).unref();
  });
  return stream;
}
