import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';
import { SerializationError } from '../../types/errors.js';
import { encodeMessage, textFrameBytes, writeText } from './frame-codec.js';
import { FrameReader, type FrameReaderOptions } from './frame-reader.js';
import type { WireMessage } from './wire-message.js';

export type FrameStreamOptions = FrameReaderOptions;

const chunkBytes = 64 * 1024;
/** Messages whose JSON is at most this long are put together in one frame, until it has this much of them. */
const smallText = 8 * 1024;

/** Messages over a byte stream. Small ones that are sent within one turn of the event loop go out as one frame. */
export class FrameStream {
  readonly #socket: Socket;
  readonly #options: FrameStreamOptions;
  #chunk = Buffer.allocUnsafe(chunkBytes);
  #filled = 0;
  /** JSON of messages that go out at the end of this turn, with commas between them. */
  #texts = '';
  #scheduled = false;
  /** Messages are being handed on: what they bring about goes out when all of them are. */
  #reading = false;

  private constructor(socket: Socket, options: FrameStreamOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  static over(socket: Socket, options: FrameStreamOptions): FrameStream {
    const reader = new FrameReader(options);
    const frames = new FrameStream(socket, options);
    socket.on('data', (chunk: Buffer) => frames.#read(reader, chunk, chunk.length));
    return frames;
  }

  /** Over a descriptor of ours, which can be read with less ado than a socket that somebody else has opened. */
  static overDescriptor(
    fd: number,
    options: FrameStreamOptions,
  ): { readonly socket: Socket; readonly frames: FrameStream } {
    const reader = new FrameReader(options);
    const onread: OnReadOpts = {
      buffer: () => reader.room(),
      callback(count, buffer) {
        frames.#read(reader, buffer as Buffer, count); // the one it was given above
        return true;
      },
    };
    // Documented for the constructor too, but not in its type.
    const socketOptions: SocketConstructorOpts & { readonly onread: OnReadOpts } = {
      fd,
      readable: true,
      writable: true,
      onread,
    };
    const socket = new Socket(socketOptions);
    const frames = new FrameStream(socket, options);
    return { socket, frames };
  }

  /** Throws `SerializationError` when the message cannot be written; nothing is sent then. */
  send(message: WireMessage): void {
    const encoded = encodeMessage(message, this.#options.serializer);
    if (typeof encoded !== 'string') {
      this.#check(encoded.reduce((sum, part) => sum + part.length, -4));
      return this.#write(encoded);
    }
    if (encoded.length <= smallText && encoded.length * 3 + 3 <= this.#options.maxFrameBytes)
      return this.#append(encoded);
    const frame = Buffer.allocUnsafeSlow(textFrameBytes + Buffer.byteLength(encoded));
    this.#check(frame.length - 4);
    writeText(encoded, frame, 0);
    this.#write([frame]);
  }

  /** Nothing waits for the end of this turn. */
  get isFlushed(): boolean {
    return this.#texts === '';
  }

  /** Writes what waits for the end of this turn now. */
  flush(): void {
    const texts = this.#texts;
    if (texts === '') return;
    this.#texts = '';
    const room = textFrameBytes + texts.length * 3;
    if (this.#filled + room > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafe(Math.max(chunkBytes, room));
      this.#filled = 0;
    }
    const start = this.#filled;
    this.#filled = writeText(texts, this.#chunk, start);
    this.#socket.write(this.#chunk.subarray(start, this.#filled));
  }

  #append(text: string): void {
    if (this.#texts === '') this.#texts = text;
    else {
      const together = this.#texts.length + 1 + text.length;
      if (together > smallText || together * 3 + 3 > this.#options.maxFrameBytes) {
        this.flush();
        this.#texts = text;
      } else this.#texts += `,${text}`;
    }
    if (this.#scheduled || this.#reading) return;
    this.#scheduled = true;
    // After all promises of this turn: answers that became ready together go together.
    process.nextTick(this.#flushScheduled);
  }

  readonly #flushScheduled = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  #read(reader: FrameReader, chunk: Buffer, count: number): void {
    this.#reading = true;
    reader.take(chunk, count);
    this.#reading = false;
    this.flush();
  }

  #write(parts: readonly Buffer[]): void {
    this.flush();
    this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    this.#socket.uncork();
  }

  #check(bytes: number): void {
    const { maxFrameBytes } = this.#options;
    if (bytes > maxFrameBytes)
      throw new SerializationError(`the message has ${bytes} bytes, more than maxFrameBytes (${maxFrameBytes})`);
  }
}
