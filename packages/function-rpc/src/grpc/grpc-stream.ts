import type { Http2Stream } from 'node:http2';
import { illegalTransition } from '@drover/contracts';
import { ProtocolError } from '../codec/protocol-error.js';
import type { ProtoWriter } from '../codec/writer.js';
import { eventStreamStates, type EventStreamState } from './event-stream-states.js';
import { FrameParser } from './frame-parser.js';
import { GrpcStatus, GrpcStatusError } from './grpc-status.js';
import type { StreamLimits } from './limits.js';
import { Outbox } from './outbox.js';
import type { Peer } from './peer.js';
import type { StreamEnd } from './break-watch.js';
import type { StreamSide } from './stream-side.js';

/** How the messages of a stream are encoded. */
export interface MessageCodec<In, Out> {
  /** Reads the message between two positions of a buffer, which is reused afterwards. Throws a ProtocolError for malformed bytes. */
  read(buffer: Buffer, start: number, end: number): In;
  /** Appends a message. Throws when it cannot be encoded. */
  write(writer: ProtoWriter, message: Out): void;
}

/** What the owner of a stream is notified of. An error that `onMessage` throws ends the stream. */
export interface GrpcStreamHandlers<In> {
  onMessage(message: In): void;
  /** Called exactly once, after the last message. */
  onEnd(end: StreamEnd): void;
  /** Called when a stream that was full has room again. */
  onDrain?(): void;
}

export interface GrpcStreamOptions {
  readonly side: StreamSide;
  readonly peer: Peer;
  readonly limits: StreamLimits;
}

/**
 * One end of a bidirectional call, on either side. Its states: event-stream-states.ts.
 *
 * - Nothing is read before `start`, or between `pause` and `resume`: the peer can then send what fits into the HTTP/2
 *   window and no more.
 * - Messages are delivered in order, then `onEnd` once, whatever happens to the stream, the connection or the peer's process.
 * - `send` does not wait, and its queue is bounded: see `StreamLimits`. After the end it does nothing.
 */
export class GrpcStream<In, Out> {
  readonly peer: Peer;
  readonly #http2: Http2Stream;
  readonly #side: StreamSide;
  readonly #limits: StreamLimits;
  readonly #parser: FrameParser;
  readonly #codec: MessageCodec<In, Out>;
  readonly #outbox: Outbox<Out>;
  readonly #waiting = new Set<() => void>();
  #handlers: GrpcStreamHandlers<In> | undefined;
  #state: EventStreamState = 'open';
  /** How the stream ended; set exactly in the state `ended`. */
  #ended: StreamEnd | undefined;
  /** The owner may pause in any state. */
  #isPaused = false;
  /** True inside the delivery loop, which a handler may enter again through `resume`. */
  #isDelivering = false;

  constructor(http2: Http2Stream, codec: MessageCodec<In, Out>, options: GrpcStreamOptions) {
    this.#http2 = http2;
    this.#codec = codec;
    this.#side = options.side;
    this.peer = options.peer;
    this.#limits = options.limits;
    this.#parser = new FrameParser(options.limits.maxMessageBytes);
    this.#outbox = new Outbox(http2, {
      write: (writer, message) => codec.write(writer, message),
      fullBytes: options.limits.fullBytes,
      onRoom: () => {
        this.#release();
        this.#handlers?.onDrain?.();
      },
    });
    // Clients of node:http2, such as the official workers, cancel with an end and a reset in one packet: wait for both.
    http2.once('end', () => {
      if (this.#state === 'open' && !this.#side.isBroken) this.#move('inputEnded');
      setImmediate(() => this.#atEndOfInput());
    });
    http2.once('close', () => this.#atClose());
  }

  /** Begins to read. Throws when it was called before. */
  start(handlers: GrpcStreamHandlers<In>): void {
    if (this.#handlers) throw new ProtocolError('the stream has been started before');
    this.#handlers = handlers;
    const ended = this.#ended;
    if (ended) process.nextTick(() => handlers.onEnd(ended));
    else this.#http2.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  /**
   * Sends a message. Returns false when the sender should wait (`ready`, `onDrain`) before it sends more, or when the stream
   * has ended. Throws when the message cannot be encoded; the stream continues without it.
   */
  send(message: Out): boolean {
    if (!this.#maySend) return false;
    this.#outbox.add(message);
    return this.#afterSend();
  }

  /** Sends a message that is encoded already. Otherwise the same as `send`. */
  sendEncoded(bytes: Uint8Array): boolean {
    if (!this.#maySend) return false;
    this.#outbox.addEncoded(bytes);
    return this.#afterSend();
  }

  /** How the stream ended; undefined until then. */
  get ended(): StreamEnd | undefined {
    return this.#ended;
  }

  /** Bytes that `send` queued and the socket has not accepted. */
  get queuedBytes(): number {
    return this.#outbox.queuedBytes;
  }

  get isFull(): boolean {
    return this.#outbox.isFull;
  }

  /** Resolves when the stream is not full, or has ended. */
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

  /** Continues after `pause`. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#deliver();
    if (this.#isPaused) return;
    if (this.#isInputPending) this.#finishInput();
    else this.#http2.resume();
  }

  /** Sends what is queued, then ends this side of the stream. A server ends the call with OK. */
  end(): void {
    if (!this.#maySend) return;
    this.#outbox.flush();
    this.#move(this.#state === 'inputPending' ? 'endingInputPending' : 'ending');
    this.#side.finish();
  }

  /** Aborts the stream and drops what is queued. A server sends status and reason to the peer, a client cancels. */
  destroy(grpcStatus: GrpcStatus, reason: string): void {
    this.#abort({ kind: 'local', grpcStatus, reason });
  }

  get #maySend(): boolean {
    return this.#state === 'open' || this.#state === 'inputEnded' || this.#state === 'inputPending';
  }

  get #isInputPending(): boolean {
    return this.#state === 'inputPending' || this.#state === 'endingInputPending';
  }

  #move(to: EventStreamState): void {
    if (!eventStreamStates.canMove(this.#state, to)) {
      throw illegalTransition({ machine: eventStreamStates.name, from: this.#state, to });
    }
    this.#state = to;
  }

  #afterSend(): boolean {
    if (this.#outbox.queuedBytes > this.#limits.maxQueuedBytes) {
      const reason = `more than ${this.#limits.maxQueuedBytes} bytes are queued: the peer does not read`;
      this.#abort({ kind: 'error', grpcStatus: GrpcStatus.RESOURCE_EXHAUSTED, reason });
      return false;
    }
    return !this.#outbox.isFull;
  }

  #receive(chunk: Buffer): void {
    if (this.#ended) return;
    this.#parser.push(chunk);
    this.#deliver();
  }

  #deliver(): void {
    // A handler that pauses and resumes gets here while the loop below runs.
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      while (!this.#isPaused && !this.#ended && this.#parser.next()) {
        const { buffer, start, end } = this.#parser;
        this.#handlers?.onMessage(this.#codec.read(buffer, start, end));
      }
    } catch (error) {
      this.#abort(endBecause(error));
    } finally {
      this.#isDelivering = false;
    }
  }

  #atEndOfInput(): void {
    // A stream that breaks also ends. Then, and after `end` on this side, the close event decides.
    if (!this.#maySend || this.#side.isBroken) return;
    // `onEnd` comes after the last message, which may still wait for `resume`.
    if (this.#isPaused && this.#parser.hasMore) this.#move('inputPending');
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
    if (this.#isInputPending) return;
    if (this.#state === 'ending') {
      this.#settle({ kind: 'local', grpcStatus: this.#side.status ?? GrpcStatus.OK, reason: 'ended here' });
    } else this.#settle(this.#side.breakOff(this.#state === 'inputEnded'));
  }

  #abort(end: StreamEnd): void {
    if (this.#ended) return;
    this.#settle(end);
    // Incoming data is read and dropped: a peer that cannot write would not read the end.
    this.#http2.resume();
    this.#side.abort(end.grpcStatus ?? GrpcStatus.UNKNOWN, end.reason);
  }

  #settle(end: StreamEnd): void {
    if (this.#ended) return;
    this.#ended = end;
    this.#move('ended');
    this.#outbox.close();
    this.#release();
    // Deferred, because the caller of `destroy` is still running. Before `start` there is no handler; `start` notifies it.
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
  // The error of a handler may contain what the peer must not see.
  return { kind: 'error', grpcStatus: GrpcStatus.INTERNAL, reason: 'a message could not be handled', cause: error };
}
