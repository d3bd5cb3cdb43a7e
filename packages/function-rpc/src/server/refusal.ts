import { constants, type ServerHttp2Stream } from 'node:http2';
import type { GrpcStatus } from '../grpc/grpc-status.js';
import { grpcContentType, isGrpcContentType, statusTrailers } from '../grpc/headers.js';

/** A connection or request that was not let in, or a call that failed here: for logs and counters. */
export interface Refusal {
  readonly kind: 'tls' | 'session' | 'method' | 'contentType' | 'path' | 'draining' | 'handler';
  /** Where it came from. */
  readonly address: string;
  /** One sentence. */
  readonly reason: string;
  /** What was thrown, if that is why. */
  readonly cause?: unknown;
}

/** Answers a request that is not gRPC with a plain HTTP status. */
export function refuseHttp(stream: ServerHttp2Stream, status: number, headers: Record<string, string> = {}): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond({ ':status': status, ...headers }, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR);
}

/** Answers a call with nothing but a status. */
export function refuseCall(stream: ServerHttp2Stream, contentType: string, status: GrpcStatus, message: string): void {
  if (stream.destroyed || stream.headersSent) return;
  const type = isGrpcContentType(contentType) ? contentType : grpcContentType;
  stream.respond({ ':status': 200, 'content-type': type, ...statusTrailers(status, message) }, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR);
}
