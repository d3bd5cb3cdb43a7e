import { constants, type Http2Session, type Http2Stream } from 'node:http2';
import type { StreamEnd } from './stream-end.js';

/** The error codes of HTTP/2, by their number. */
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

/** Sees why a stream breaks, and breaks one that does not come to its end. */
export class BreakWatch {
  readonly #stream: Http2Stream;
  readonly #session: Http2Session | undefined;
  #error: Error | undefined;
  #isConnectionLost: boolean | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: Http2Stream) {
    this.#stream = stream;
    this.#session = stream.session; // a stream that is destroyed does not know any more
    // A connection that is lost takes its streams along; soon after one was cancelled it may be closed as well.
    stream.once('aborted', () => {
      this.#isConnectionLost = isLost(this.#session);
      // A stream with something unread would stay for as long as nobody reads.
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) setImmediate(() => stream.destroy());
    });
    stream.on('error', (error) => {
      this.#error ??= error;
    });
    stream.once('close', () => clearTimeout(this.#timer));
  }

  /** Cancels the stream if it has not closed by then. */
  closeAfter(delayMs: number): void {
    if (this.#stream.destroyed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#stream.close(constants.NGHTTP2_CANCEL);
      setImmediate(() => this.#stream.destroy());
    }, delayMs).unref();
  }

  /** Why it closed. */
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

/** The streams of a lost connection are closed before it counts as destroyed itself, but after its socket. */
function isLost(session: Http2Session | undefined): boolean {
  return session === undefined || session.destroyed || session.socket.destroyed;
}
