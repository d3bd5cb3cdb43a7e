import type { GrpcStatus } from './grpc-status.js';

/** How a stream ended. */
export interface StreamEnd {
  /**
   * - `halfClosed`: the peer ended its side, and the stream ended in order
   * - `cancelled`: the peer cancelled the stream
   * - `reset`: the stream or its connection broke
   * - `error`: the peer ended it with an error, or this side did: the peer sent invalid data or did not read
   * - `local`: `end` or `destroy` was called on this side
   */
  readonly kind: 'halfClosed' | 'cancelled' | 'reset' | 'error' | 'local';
  /** The status that one side sent to the other, if any. */
  readonly grpcStatus?: GrpcStatus | undefined;
  /** A clause for the log. */
  readonly reason: string;
  /** The error behind it, if there is one. */
  readonly cause?: unknown;
}
