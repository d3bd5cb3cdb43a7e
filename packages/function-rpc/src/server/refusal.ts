import { constants, type ServerHttp2Stream } from 'node:http2';
import type { GrpcStatus } from '../grpc/grpc-status.js';
import { statusTrailers } from '../grpc/headers.js';

/** A refused connection or request, or a call that failed in this process: for logs and metrics. */
export interface RpcRefusal {
  readonly kind: 'tls' | 'session' | 'method' | 'contentType' | 'path' | 'caller' | 'draining' | 'handler';
  /** The address of the peer. */
  readonly address: string;
  /** A clause for the log. */
  readonly reason: string;
  /** The error behind it, if there is one. */
  readonly cause?: unknown;
}

/** Responds with an HTTP status to a request that is not gRPC. */
export function refuseHttp(stream: ServerHttp2Stream, status: number, headers: Record<string, string> = {}): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond({ ':status': status, ...headers }, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR);
}

/** Responds to a call with a gRPC status and no message. */
export function refuseCall(stream: ServerHttp2Stream, contentType: string, status: GrpcStatus, message: string): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond(
    { ':status': 200, 'content-type': contentType, ...statusTrailers(status, message) },
    { endStream: true },
  );
  stream.close(constants.NGHTTP2_NO_ERROR);
}
