import { constants, type Http2Session, type Http2Stream } from 'node:http2';
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

/** The error codes of HTTP/2 by number. */
const errorNames = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
] as const;

/** Records why a stream breaks, and cancels a stream that does not close in time. */
export class BreakWatch {
  readonly #stream: Http2Stream;
  readonly #session: Http2Session | undefined;
  #error: Error | undefined;
  #isConnectionLost: boolean | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: Http2Stream) {
    this.#stream = stream;
    this.#session = stream.session; // a destroyed stream has no session
    // Checked now: a connection may also be closed soon after a stream of it was cancelled.
    stream.once('aborted', () => {
      this.#isConnectionLost = isLost(this.#session);
      // A stream with unread data would otherwise stay open until it is read.
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) setImmediate(() => stream.destroy());
    });
    stream.on('error', (error) => {
      this.#error ??= error;
    });
    stream.once('close', () => clearTimeout(this.#timer));
  }

  /** Cancels the stream unless it closes within `delayMs`. */
  closeAfter(delayMs: number): void {
    if (this.#stream.destroyed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#stream.close(constants.NGHTTP2_CANCEL);
      setImmediate(() => this.#stream.destroy());
    }, delayMs).unref();
  }

  /** Returns why the stream closed. */
  explain(): StreamEnd {
    const { rstCode } = this.#stream;
    const cause = this.#error;
    if (this.#isConnectionLost ?? isLost(this.#session)) {
      return { kind: 'reset', reason: `the connection was lost${cause ? `: ${cause.message}` : ''}`, cause };
    }
    if (rstCode === constants.NGHTTP2_CANCEL) return { kind: 'cancelled', reason: 'the peer cancelled the stream' };
    return { kind: 'reset', reason: `the stream was reset with ${errorNames[rstCode] ?? rstCode}`, cause };
  }
}

/** Streams of a lost connection close before their session counts as destroyed, but after its socket does. */
function isLost(session: Http2Session | undefined): boolean {
  return session === undefined || session.destroyed || session.socket.destroyed;
}
