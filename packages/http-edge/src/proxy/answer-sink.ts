import type { AnswerBegin } from '../client/answer-reader.js';

/**
 * Where a proxied answer goes: back to the client on the fast lane, on Node's server, or into memory. An answer is either
 * whole (`answer`) or streamed (`begin`, `write`, `end`); `destroy` breaks off a streamed one.
 */
export interface AnswerSink {
  /** The client is gone, or has been answered. */
  readonly isOver: boolean;
  /** `headers` are those to pass on. `body` is undefined if empty. */
  answer(begin: AnswerBegin, headers: readonly string[], body: Buffer | undefined): void;
  begin(begin: AnswerBegin, headers: readonly string[]): void;
  /** Returns false if the caller should wait for `onDrain`. */
  write(bytes: Buffer): boolean;
  end(): void;
  /** Breaks the connection, so that the client cannot take a part of an answer for the whole. */
  destroy(): void;
  onDrain: (() => void) | undefined;
  /** Called once if the client leaves before its answer is complete. */
  onLeft: (() => void) | undefined;
}
