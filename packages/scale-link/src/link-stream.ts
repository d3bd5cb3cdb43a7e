import type { GrpcStatus } from '@drover/function-rpc';

/** Why a stream ended. */
export interface LinkStreamEnd {
  readonly reason: string;
  /** The status that the other end sent, if any. */
  readonly grpcStatus?: GrpcStatus | undefined;
}

/** What the owner of one end of a link is notified of. */
export interface LinkStreamHandlers<In> {
  onMessage(message: In): void;
  /** Called exactly once, after the last message. */
  onEnd(end: LinkStreamEnd): void;
}

/** One end of a link, over gRPC or in memory. Messages arrive in order, then `onEnd` once. */
export interface LinkStream<In, Out> {
  readonly peer: { readonly address: string };
  /** Too many bytes are queued: senders that can wait should. */
  readonly isFull: boolean;
  /** Begins to read; call it once. */
  start(handlers: LinkStreamHandlers<In>): void;
  /** Returns false if the stream is full, or has ended: then the message is dropped. */
  send(message: Out): boolean;
  /** Sends what is queued, then ends the stream. */
  end(): void;
  /** Aborts the stream and drops what is queued. */
  destroy(status: GrpcStatus, reason: string): void;
}
