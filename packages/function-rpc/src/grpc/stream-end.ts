import type { GrpcStatus } from './grpc-status.js';

/** How a stream ended. */
export interface StreamEnd {
  /**
   * - `halfClosed`: the peer has said all it had to say, and the stream ended in good order
   * - `cancelled`: the peer gave the stream up
   * - `reset`: the stream or its connection broke
   * - `error`: the peer ended it with an error, or we did because of what it sent or did not take
   * - `local`: `end` or `destroy` was called here
   */
  readonly kind: 'halfClosed' | 'cancelled' | 'reset' | 'error' | 'local';
  /** The status that one side told the other, if any did. */
  readonly grpcStatus?: GrpcStatus | undefined;
  /** One sentence for the log. */
  readonly reason: string;
  /** What was thrown, if that is why. */
  readonly cause?: unknown;
}
