import type { Writable } from 'node:stream';
import { Writer } from '../codec/writer.js';
import { writeStreamingMessage } from '../generated/streaming-message-write.js';
import type { StreamingMessageInit } from '../generated/streaming-message.js';
import { batchBuffers, batchBytes } from './batch-buffers.js';
import { prefixBytes } from './frame-parser.js';

const none = Buffer.alloc(0);

/** When an outbox is full, and who hears that it no longer is. */
export interface OutboxOptions {
  /** From this many bytes on the outbox is full: it still takes messages, and asks the sender to wait. */
  readonly fullBytes: number;
  /** Called when it is no longer full: half of that has left. */
  readonly onRoom: () => void;
}

/**
 * Messages on their way to the socket. All that are added in one turn of the event loop leave in one write: a write costs
 * as much as encoding several messages. What was written counts as queued until the socket has taken it.
 */
export class Outbox {
  readonly #sink: Writable;
  readonly #options: OutboxOptions;
  readonly #writer = new Writer(none);
  #onTheirWay = 0;
  #isFull = false;
  #isScheduled = false;
  #isClosed = false;

  constructor(sink: Writable, options: OutboxOptions) {
    this.#sink = sink;
    this.#options = options;
  }

  /** Bytes that the socket has not taken yet. */
  get queuedBytes(): number {
    return this.#onTheirWay + this.#writer.position;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Adds a message, or throws and adds nothing when it cannot be encoded. */
  add(message: StreamingMessageInit): void {
    const writer = this.#begin();
    const start = writer.position;
    try {
      writer.position = start + prefixBytes;
      writeStreamingMessage(writer, message);
    } catch (error) {
      writer.position = start;
      throw error;
    }
    this.#frame(start);
  }

  /** Adds a message that is encoded already. */
  addEncoded(bytes: Uint8Array): void {
    const writer = this.#begin();
    const start = writer.position;
    writer.position = start + prefixBytes;
    writer.raw(bytes);
    this.#frame(start);
  }

  /** Writes everything that was added. */
  flush(): void {
    const writer = this.#writer;
    if (writer.position === 0 || this.#isClosed) return;
    const { buffer, position } = writer;
    writer.use(none);
    this.#onTheirWay += position;
    this.#sink.write(buffer.subarray(0, position), (error) => {
      // After an error nobody knows who still looks at the buffer.
      if (error) return;
      batchBuffers.giveBack(buffer);
      this.#onTheirWay -= position;
      if (this.#isFull && this.queuedBytes <= this.#options.fullBytes / 2) {
        this.#isFull = false;
        this.#options.onRoom();
      }
    });
  }

  /** Forgets what was not written yet, and takes no more. */
  close(): void {
    this.#isClosed = true;
    this.#writer.use(none);
  }

  #begin(): Writer {
    const writer = this.#writer;
    if (writer.buffer === none) writer.use(batchBuffers.take());
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
      // Not setImmediate: at one message at a time that takes 40 % longer to come back, and batches are as large.
      process.nextTick(this.#flushScheduled);
    }
  }

  readonly #flushScheduled = (): void => {
    this.#isScheduled = false;
    this.flush();
  };
}
