import { constants, type ClientHttp2Stream, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { BreakWatch, type StreamEnd } from './break-watch.js';
import { statusOf, statusTrailers } from './headers.js';
import { GrpcStatus, grpcStatusName } from './grpc-status.js';

/** How long the peer may take to read the rest of a call that ended. */
const finishGraceMs = 5_000;

/** The same for a failed call, whose peer may have stopped reading. */
const abortGraceMs = 1_000;

/** What differs between the client and the server of a call. */
export interface StreamSide {
  /** The status of the call, once it is known. */
  readonly status: GrpcStatus | undefined;
  /** True when the stream closed before the peer ended its side. */
  readonly isBroken: boolean;
  /** Ends this side after everything that was written. */
  finish(): void;
  /** Aborts the call. */
  abort(status: GrpcStatus, reason: string): void;
  /** Returns how the stream ended when the peer ended its side in order. */
  endOfInput(): StreamEnd;
  /** Returns how the stream ended when it closed first. A peer may also end its side and disconnect at once. */
  breakOff(hasInputEnded: boolean): StreamEnd;
}

/** The server side: it ends a call with trailers. */
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
      // Trailers end the call; anything that the peer still sends is discarded.
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
    // A status that was set before stays: its trailers may be sent already.
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

/** The client side: it receives the end of the call as trailers. */
export class ClientSide implements StreamSide {
  readonly #stream: ClientHttp2Stream;
  readonly #watch: BreakWatch;
  readonly #cancel: () => void;
  #received: { status: GrpcStatus; message: string } | undefined;

  /** `cancel` must reset the stream without ending it first, which `stream.close` does. */
  constructor(stream: ClientHttp2Stream, cancel: () => void) {
    this.#stream = stream;
    this.#cancel = cancel;
    this.#watch = new BreakWatch(stream);
    stream.once('response', (headers) => this.#readStatus(headers));
    stream.once('trailers', (headers) => this.#readStatus(headers));
  }

  get status(): GrpcStatus | undefined {
    return this.#received?.status;
  }

  get isBroken(): boolean {
    return this.#received === undefined && this.#stream.closed;
  }

  finish(): void {
    this.#watch.closeAfter(finishGraceMs);
    this.#stream.end();
  }

  abort(): void {
    this.#cancel();
  }

  endOfInput(): StreamEnd {
    if (!this.#received)
      return { kind: 'error', grpcStatus: GrpcStatus.UNKNOWN, reason: 'the call ended without a status' };
    const { status, message } = this.#received;
    if (status === GrpcStatus.OK)
      return { kind: 'halfClosed', grpcStatus: status, reason: 'the peer ended the stream' };
    return { kind: 'error', grpcStatus: status, reason: `${grpcStatusName(status)}: ${message}` };
  }

  breakOff(): StreamEnd {
    return this.#received ? this.endOfInput() : this.#watch.explain();
  }

  #readStatus(headers: IncomingHttpHeaders & { readonly ':status'?: number | undefined }): void {
    const http = headers[':status'] ?? 200;
    this.#received ??= statusOf(headers);
    if (http !== 200)
      this.#received ??= { status: GrpcStatus.UNKNOWN, message: `the server answered with HTTP ${http}` };
  }
}
