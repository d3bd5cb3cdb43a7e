import type { Http2Stream } from 'node:http2';
import { ProtocolError } from '../codec/protocol-error.js';
import { Reader } from '../codec/reader.js';
import { readStreamingMessage } from '../generated/streaming-message-read.js';
import type { StreamingMessage, StreamingMessageInit } from '../generated/streaming-message.js';
import { FrameParser } from './frame-parser.js';
import { GrpcStatus, GrpcStatusError } from './grpc-status.js';
import type { StreamLimits } from './limits.js';
import { Outbox } from './outbox.js';
import type { Peer } from './peer.js';
import type { StreamEnd } from './stream-end.js';
import type { StreamSide } from './stream-side.js';

/** What the owner of a stream wants to hear. Whatever `onMessage` throws ends the stream. */
export interface StreamHandlers {
  onMessage(message: StreamingMessage): void;
  /** Called exactly once, after the last message. */
  onEnd(end: StreamEnd): void;
  /** Called when a stream that was full has room again. */
  onDrain?(): void;
}

/**
 * One end of an EventStream call, on either side.
 *
 * - Nothing is read before `start`, and nothing between `pause` and `resume`: then the peer can send as much as fits into
 *   the HTTP/2 window, and no more.
 * - Messages arrive in order, and `onEnd` after them, once, whatever happens to stream, connection or process.
 * - `send` never waits and never grows without bound: see `StreamLimits`. After the end it does nothing.
 */
export class EventStream {
  readonly peer: Peer;
  readonly #http2: Http2Stream;
  readonly #side: StreamSide;
  readonly #limits: StreamLimits;
  readonly #parser: FrameParser;
  readonly #reader = new Reader(Buffer.alloc(0));
  readonly #outbox: Outbox;
  readonly #waiting = new Set<() => void>();
  #handlers: StreamHandlers | undefined;
  #ended: StreamEnd | undefined;
  #isEnding = false;
  #hasInputEnded = false;
  #isEndWaiting = false;
  #isPaused = false;
  #isReading = false;

  constructor(http2: Http2Stream, options: { side: StreamSide; peer: Peer; limits: StreamLimits }) {
    this.#http2 = http2;
    this.#side = options.side;
    this.peer = options.peer;
    this.#limits = options.limits;
    this.#parser = new FrameParser(options.limits.maxMessageBytes);
    this.#outbox = new Outbox(http2, {
      fullBytes: options.limits.fullBytes,
      onRoom: () => {
        this.#release();
        this.#handlers?.onDrain?.();
      },
    });
    // Clients of node:http2 (the official workers are) cancel by an end and a reset in one packet: look at both.
    http2.once('end', () => {
      this.#hasInputEnded = !this.#side.isBroken;
      setImmediate(() => this.#atEndOfInput());
    });
    http2.once('close', () => this.#atClose());
  }

  /** Begins to read. */
  start(handlers: StreamHandlers): void {
    if (this.#handlers) throw new ProtocolError('the stream has been started before');
    this.#handlers = handlers;
    const ended = this.#ended;
    if (ended) process.nextTick(() => handlers.onEnd(ended));
    else this.#http2.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  /**
   * Sends a message. Returns false when the sender should wait (`ready`, `onDrain`) before it sends more, or when the stream
   * is over. Throws when the message cannot be encoded; the stream goes on without it.
   */
  send(message: StreamingMessageInit): boolean {
    if (this.#ended || this.#isEnding) return false;
    this.#outbox.add(message);
    return this.#afterSend();
  }

  /** Sends what `encodeStreamingMessage` made, as `send` does. */
  sendEncoded(bytes: Uint8Array): boolean {
    if (this.#ended || this.#isEnding) return false;
    this.#outbox.addEncoded(bytes);
    return this.#afterSend();
  }

  /** How the stream ended; undefined until then. */
  get ended(): StreamEnd | undefined {
    return this.#ended;
  }

  /** Bytes that were sent here and that the socket has not taken. */
  get queuedBytes(): number {
    return this.#outbox.queuedBytes;
  }

  get isFull(): boolean {
    return this.#outbox.isFull;
  }

  /** Resolves when the stream is not full, or is over. */
  ready(): Promise<void> {
    if (!this.isFull || this.#ended) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** A longer message ends the stream; applies from the next message on. */
  get maxMessageBytes(): number {
    return this.#parser.maxMessageBytes;
  }

  set maxMessageBytes(bytes: number) {
    this.#parser.maxMessageBytes = bytes;
  }

  /** Delivers no more messages until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#http2.pause();
  }

  /** Goes on where `pause` stopped. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#deliver();
    if (this.#isPaused) return;
    if (this.#isEndWaiting) this.#finishInput();
    else this.#http2.resume();
  }

  /** Sends what is queued, then says that nothing more will come. A server ends the call with OK. */
  end(): void {
    if (this.#ended || this.#isEnding) return;
    this.#outbox.flush();
    this.#isEnding = true;
    this.#side.finish();
  }

  /** Gives the stream up: what is queued is dropped. A server tells the peer status and reason, a client cancels. */
  destroy(grpcStatus: GrpcStatus, reason: string): void {
    this.#abort({ kind: 'local', grpcStatus, reason });
  }

  #afterSend(): boolean {
    if (this.#outbox.queuedBytes > this.#limits.maxQueuedBytes) {
      const reason = `more than ${this.#limits.maxQueuedBytes} bytes are queued: the peer does not read`;
      this.#abort({ kind: 'error', grpcStatus: GrpcStatus.RESOURCE_EXHAUSTED, reason });
      return false;
    }
    return !this.#outbox.isFull;
  }

  #take(chunk: Buffer): void {
    if (this.#ended) return;
    this.#parser.push(chunk);
    this.#deliver();
  }

  #deliver(): void {
    // A handler that pauses and resumes comes back here while the loop below is still at work.
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (!this.#isPaused && !this.#ended && this.#parser.next()) {
        this.#reader.begin(this.#parser.buffer, this.#parser.start);
        this.#handlers?.onMessage(readStreamingMessage(this.#reader, this.#parser.end));
      }
    } catch (error) {
      this.#abort(endBecause(error));
    } finally {
      this.#isReading = false;
    }
  }

  #atEndOfInput(): void {
    // A stream that breaks also ends; then, and after our own end, it is the close that tells.
    if (this.#ended || this.#isEnding || this.#side.isBroken) return;
    // The end comes after the last message, which may still wait here.
    if (this.#isPaused && this.#parser.hasMore) this.#isEndWaiting = true;
    else this.#finishInput();
  }

  #finishInput(): void {
    if (this.#ended) return;
    if (this.#parser.isWithinMessage) {
      const reason = 'the stream ended within a message';
      this.#abort({ kind: 'error', grpcStatus: GrpcStatus.INVALID_ARGUMENT, reason });
      return;
    }
    const end = this.#side.endOfInput();
    this.#outbox.flush();
    this.#settle(end);
    this.#side.finish();
  }

  #atClose(): void {
    if (this.#isEndWaiting) return;
    if (this.#isEnding) {
      this.#settle({ kind: 'local', grpcStatus: this.#side.status ?? GrpcStatus.OK, reason: 'ended here' });
    } else this.#settle(this.#side.breakOff(this.#hasInputEnded));
  }

  #abort(end: StreamEnd): void {
    if (this.#ended) return;
    this.#settle(end);
    // What still comes in is read and dropped, so that the peer is not stuck before it hears of the end.
    this.#http2.resume();
    this.#side.abort(end.grpcStatus ?? GrpcStatus.UNKNOWN, end.reason);
  }

  #settle(end: StreamEnd): void {
    if (this.#ended) return;
    this.#ended = end;
    this.#outbox.close();
    this.#release();
    // Not at once: whoever called destroy is still at work. Before `start` it is `start` that tells.
    const handlers = this.#handlers;
    if (handlers) process.nextTick(() => handlers.onEnd(end));
  }

  #release(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

function endBecause(error: unknown): StreamEnd {
  if (error instanceof GrpcStatusError) {
    return { kind: 'error', grpcStatus: error.grpcStatus, reason: error.message, cause: error };
  }
  if (error instanceof ProtocolError) {
    const reason = `a message cannot be read: ${error.message}`;
    return { kind: 'error', grpcStatus: GrpcStatus.INVALID_ARGUMENT, reason, cause: error };
  }
  // Whoever handles messages knows more than the peer should.
  return { kind: 'error', grpcStatus: GrpcStatus.INTERNAL, reason: 'a message could not be handled', cause: error };
}
