import { constants, type ClientHttp2Stream, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { BreakWatch } from './break-watch.js';
import { statusOf, statusTrailers } from './headers.js';
import { GrpcStatus, grpcStatusName } from './grpc-status.js';
import type { StreamEnd } from './stream-end.js';

/** How long the peer has to take what was sent before a call that ended is cut off. */
const finishGraceMs = 5_000;

/** The same for a call that failed, whose peer may have stopped reading. */
const abortGraceMs = 1_000;

/** What ends of streams have to do differently on the two sides of a call. */
export interface StreamSide {
  /** The status that has been told so far. */
  readonly status: GrpcStatus | undefined;
  /** True when what the peer sent has no proper end. */
  readonly isBroken: boolean;
  /** Says, after everything written so far, that nothing more will come. */
  finish(): void;
  /** Breaks the call off. */
  abort(status: GrpcStatus, reason: string): void;
  /** Why the peer sends nothing more, when it ended in good order. */
  endOfInput(): StreamEnd;
  /** Why the stream closed before that could be told. A peer may also end in good order and be gone at once. */
  breakOff(hasInputEnded: boolean): StreamEnd;
}

/** The side that answers: it ends a call by trailers. */
export class ServerSide implements StreamSide {
  readonly #stream: ServerHttp2Stream;
  readonly #watch: BreakWatch;
  #trailers = statusTrailers(GrpcStatus.OK, '');
  #status: GrpcStatus | undefined;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    this.#watch = new BreakWatch(stream);
    stream.on('wantTrailers', () => {
      stream.sendTrailers(this.#trailers);
      // The peer may have more to say, which nobody will hear: the call is over with its trailers.
      setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
    });
  }

  get status(): GrpcStatus | undefined {
    return this.#status;
  }

  get isBroken(): boolean {
    return this.#stream.closed;
  }

  finish(): void {
    this.#status ??= GrpcStatus.OK;
    this.#watch.closeAfter(finishGraceMs);
    this.#stream.end();
  }

  abort(status: GrpcStatus, reason: string): void {
    // What was said before stays: the trailers of an end may be on their way.
    if (this.#status === undefined) this.#trailers = statusTrailers(status, reason);
    this.#status ??= status;
    this.#watch.closeAfter(abortGraceMs);
    this.#stream.end();
  }

  endOfInput(): StreamEnd {
    return { kind: 'halfClosed', reason: 'the peer ended the stream' };
  }

  breakOff(hasInputEnded: boolean): StreamEnd {
    const end = this.#watch.explain();
    return hasInputEnded && end.kind !== 'cancelled' ? this.endOfInput() : end;
  }
}

/** The side that calls: it hears of the end by trailers. */
export class ClientSide implements StreamSide {
  readonly #stream: ClientHttp2Stream;
  readonly #watch: BreakWatch;
  readonly #cancel: () => void;
  #told: { status: GrpcStatus; message: string } | undefined;

  /** `cancel` resets the stream without ending it first, which `stream.close` does not manage. */
  constructor(stream: ClientHttp2Stream, cancel: () => void) {
    this.#stream = stream;
    this.#cancel = cancel;
    this.#watch = new BreakWatch(stream);
    stream.once('response', (headers) => this.#hear(headers));
    stream.once('trailers', (headers) => this.#hear(headers));
  }

  get status(): GrpcStatus | undefined {
    return this.#told?.status;
  }

  get isBroken(): boolean {
    return this.#told === undefined && this.#stream.closed;
  }

  finish(): void {
    this.#watch.closeAfter(finishGraceMs);
    this.#stream.end();
  }

  abort(): void {
    this.#cancel();
  }

  endOfInput(): StreamEnd {
    if (!this.#told)
      return { kind: 'error', grpcStatus: GrpcStatus.UNKNOWN, reason: 'the call ended without a status' };
    const { status, message } = this.#told;
    if (status === GrpcStatus.OK)
      return { kind: 'halfClosed', grpcStatus: status, reason: 'the peer ended the stream' };
    return { kind: 'error', grpcStatus: status, reason: `${grpcStatusName(status)}: ${message}` };
  }

  breakOff(): StreamEnd {
    return this.#told ? this.endOfInput() : this.#watch.explain();
  }

  #hear(headers: IncomingHttpHeaders & { readonly ':status'?: number | undefined }): void {
    const http = headers[':status'] ?? 200;
    this.#told ??= statusOf(headers);
    if (http !== 200) this.#told ??= { status: GrpcStatus.UNKNOWN, message: `the server answered with HTTP ${http}` };
  }
}
