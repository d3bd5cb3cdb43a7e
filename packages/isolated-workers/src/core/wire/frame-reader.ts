import { SerializationError } from '../../types/errors.js';
import type { Serializer } from '../../types/messages.js';
import { asError } from './error-data.js';
import { decodeFrame } from './frame-codec.js';
import type { WireMessage } from '../../types/wire-message.js';

export interface FrameReaderOptions {
  readonly serializer: Serializer | undefined;
  readonly maxFrameBytes: number;
  readonly onMessage: (message: WireMessage) => void;
  /** The input is malformed; nothing after it can be read. */
  readonly onMalformed: (error: Error) => void;
}

/** The capacity of a socket pair, so that one read gets all available bytes. */
const roomBytes = 256 * 1024;

/**
 * Splits the input into frames. A complete frame is read in place. The parts of an incomplete one are gathered in a buffer of
 * its size, so that the cost of a large frame is proportional to its size.
 */
export class FrameReader {
  readonly #options: FrameReaderOptions;
  readonly #header = Buffer.allocUnsafe(4);
  #headerFilled = 0;
  /** The incomplete frame, if there is one. */
  #body: Buffer | undefined;
  #bodyFilled = 0;
  #room: Buffer | undefined;
  #broken = false;
  #messages = 0;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  /** Returns the buffer for the next read: a part of a large frame, so that its bytes need not be copied. */
  room(): Buffer {
    if (this.#body && this.#body.length - this.#bodyFilled >= roomBytes) return this.#body.subarray(this.#bodyFilled);
    return (this.#room ??= Buffer.allocUnsafeSlow(roomBytes));
  }

  /** Reads the first `count` bytes of `chunk`. Returns the number of completed messages. */
  read(chunk: Buffer, count: number): number {
    let at = 0;
    this.#messages = 0;
    try {
      while (at < count && !this.#broken) {
        if (this.#body) at += this.#fillBody(this.#body, chunk, at, count);
        else if (this.#headerFilled === 0 && count - at >= 4) {
          const size = chunk.readUInt32LE(at);
          this.#check(size);
          at += 4;
          if (count - at >= size) {
            this.#decode(chunk, at, at + size);
            at += size;
          } else this.#beginBody(size);
        } else at += this.#fillHeader(chunk, at, count);
      }
    } catch (error) {
      this.#broken = true;
      this.#options.onMalformed(asError(error));
    }
    return this.#messages;
  }

  #decode(body: Buffer, start: number, end: number): void {
    this.#messages += decodeFrame(body, start, end, this.#options.serializer, this.#options.onMessage);
  }

  #fillHeader(chunk: Buffer, at: number, end: number): number {
    const count = Math.min(4 - this.#headerFilled, end - at);
    chunk.copy(this.#header, this.#headerFilled, at, at + count);
    this.#headerFilled += count;
    if (this.#headerFilled === 4) {
      this.#headerFilled = 0;
      const size = this.#header.readUInt32LE(0);
      this.#check(size);
      this.#beginBody(size);
    }
    return count;
  }

  #beginBody(size: number): void {
    this.#body = Buffer.allocUnsafeSlow(size);
    this.#bodyFilled = 0;
  }

  #fillBody(body: Buffer, chunk: Buffer, at: number, end: number): number {
    const count = Math.min(body.length - this.#bodyFilled, end - at);
    const isInPlace = chunk.buffer === body.buffer;
    if (!isInPlace) chunk.copy(body, this.#bodyFilled, at, at + count);
    this.#bodyFilled += count;
    if (this.#bodyFilled === body.length) {
      this.#body = undefined;
      this.#decode(body, 0, body.length);
    }
    return count;
  }

  #check(size: number): void {
    const { maxFrameBytes } = this.#options;
    if (size < 1 || size > maxFrameBytes)
      throw new SerializationError(`A frame has ${size} bytes, more than maxFrameBytes (${maxFrameBytes}).`);
  }
}
