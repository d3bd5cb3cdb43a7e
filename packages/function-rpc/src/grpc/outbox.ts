import type { Writable } from 'node:stream';
import { ProtoWriter } from '../codec/writer.js';
import { prefixBytes } from './frame-parser.js';

/** Room for a few dozen messages of the usual size. A larger batch is sent at once. */
const batchBytes = 65_536;

const maxSpare = 32;
const spare: Buffer[] = [];

/**
 * A pool of buffers for batches of messages. A stream holds one only from the first message of a batch until the socket has
 * accepted it, so that idle streams need none.
 */
const batchBuffers = {
  acquire(): Buffer {
    return spare.pop() ?? Buffer.allocUnsafeSlow(batchBytes);
  },

  /** Returns a buffer to the pool. The caller must not use it afterwards. */
  release(buffer: Buffer): void {
    if (buffer.length === batchBytes && spare.length < maxSpare) spare.push(buffer);
  },
};

const none = Buffer.alloc(0);

/** Options of an outbox. */
export interface OutboxOptions<Message> {
  /** Appends a message. Throws when it cannot be encoded. */
  readonly write: (writer: ProtoWriter, message: Message) => void;
  /** With this many queued bytes the outbox is full. It still accepts messages; the sender should wait. */
  readonly fullBytes: number;
  /** Called when a full outbox has sent half of `fullBytes`. */
  readonly onRoom: () => void;
}

/**
 * Queues messages for the socket. All messages of one turn of the event loop leave in one write, because a write costs as
 * much as encoding several messages. Written bytes count as queued until the socket has accepted them.
 */
export class Outbox<Message> {
  readonly #sink: Writable;
  readonly #options: OutboxOptions<Message>;
  readonly #writer = new ProtoWriter(none);
  #onTheirWay = 0;
  #isFull = false;
  #isScheduled = false;
  #isClosed = false;

  constructor(sink: Writable, options: OutboxOptions<Message>) {
    this.#sink = sink;
    this.#options = options;
  }

  /** Bytes that the socket has not accepted. */
  get queuedBytes(): number {
    return this.#onTheirWay + this.#writer.position;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Adds a message. Throws and adds nothing when it cannot be encoded. */
  add(message: Message): void {
    const writer = this.#begin();
    const start = writer.position;
    try {
      writer.position = start + prefixBytes;
      this.#options.write(writer, message);
    } catch (error) {
      writer.position = start;
      throw error;
    }
    this.#frame(start);
  }

  /** Adds an encoded message. */
  addEncoded(bytes: Uint8Array): void {
    const writer = this.#begin();
    const start = writer.position;
    writer.position = start + prefixBytes;
    writer.raw(bytes);
    this.#frame(start);
  }

  /** Writes all added messages. */
  flush(): void {
    const writer = this.#writer;
    if (writer.position === 0 || this.#isClosed) return;
    const { buffer, position } = writer;
    writer.use(none);
    this.#onTheirWay += position;
    this.#sink.write(buffer.subarray(0, position), (error) => {
      // After an error the socket may still read the buffer.
      if (error) return;
      batchBuffers.release(buffer);
      this.#onTheirWay -= position;
      if (this.#isFull && this.queuedBytes <= this.#options.fullBytes / 2) {
        this.#isFull = false;
        this.#options.onRoom();
      }
    });
  }

  /** Drops what was not written. Later messages are dropped too. */
  close(): void {
    this.#isClosed = true;
    this.#writer.use(none);
  }

  #begin(): ProtoWriter {
    const writer = this.#writer;
    if (writer.buffer === none) writer.use(batchBuffers.acquire());
    writer.reserve(prefixBytes);
    return writer;
  }

  #frame(start: number): void {
    const { buffer, position } = this.#writer;
    buffer[start] = 0;
    buffer.writeUInt32BE(position - start - prefixBytes, start + 1);
    if (this.queuedBytes >= this.#options.fullBytes) this.#isFull = true;
    if (position >= batchBytes) this.flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      // Not setImmediate: batches would not be larger, and a single message would take 40 % longer (README, measurements).
      process.nextTick(this.#flushScheduled);
    }
  }

  readonly #flushScheduled = (): void => {
    this.#isScheduled = false;
    this.flush();
  };
}
