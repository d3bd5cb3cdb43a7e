import { writeSync } from 'node:fs';
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';
import { SerializationError } from '../../types/errors.js';
import { encodeMessage, textFrameBytes, writeText, writeTexts } from './frame-codec.js';
import { FrameReader, type FrameReaderOptions } from './frame-reader.js';
import type { WireMessage } from '../../types/wire-message.js';

export type FrameStreamOptions = FrameReaderOptions;

const chunkBytes = 64 * 1024;
/** Messages whose JSON is at most this long are put together in one frame, until it has this much of them. */
const smallText = 8 * 1024;

/**
 * Messages over a byte stream. What answers a message that came alone goes at once; else small ones that are sent within one
 * turn of the event loop go out as one frame.
 */
export class FrameStream {
  readonly #socket: Socket;
  readonly #options: FrameStreamOptions;
  /** The socket's own descriptor, where we know it: small frames are written there with less ado. */
  readonly #fd: number | undefined;
  #chunk = Buffer.allocUnsafe(chunkBytes);
  #filled = 0;
  /** JSON of messages that go out at the end of this turn, with commas between them. */
  #texts = '';
  #scheduled = false;
  /** Messages are being handed on: what they bring about goes out when all of them are. */
  #reading = false;
  /** The last message came alone and nothing was sent since: there is nothing to wait for. */
  #alone = true;

  private constructor(socket: Socket, options: FrameStreamOptions, fd?: number) {
    this.#socket = socket;
    this.#options = options;
    this.#fd = fd;
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
    const frames = new FrameStream(socket, options, fd);
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
    this.#write([frame.subarray(0, writeText(encoded, frame, 0))]);
  }

  /** Nothing that was sent is still here, where it would be lost with this process. */
  get isFlushed(): boolean {
    return this.#texts === '' && this.#socket.writableLength === 0;
  }

  /** Writes what waits for the end of this turn now. */
  flush(): void {
    const texts = this.#texts;
    if (texts === '') return;
    this.#texts = '';
    const start = this.#room(texts);
    this.#filled = writeTexts(texts, this.#chunk, start);
    this.#writeSmall(start);
  }

  /** Where in the chunk there is room for this text. */
  #room(text: string): number {
    const room = textFrameBytes + text.length * 3;
    if (this.#filled + room > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafe(Math.max(chunkBytes, room));
      this.#filled = 0;
    }
    return this.#filled;
  }

  /** What was put into the chunk from `start` on: past the stream's own machinery where nothing waits in it. */
  #writeSmall(start: number): void {
    let written = 0;
    if (this.#fd !== undefined && this.#socket.writableLength === 0) {
      try {
        written = writeSync(this.#fd, this.#chunk, start, this.#filled - start);
      } catch {
        // The pipe is full or broken: the stream waits, or tells.
      }
    }
    if (start + written === this.#filled) {
      this.#filled = 0;
      return;
    }
    this.#socket.write(this.#chunk.subarray(start + written, this.#filled));
  }

  #append(text: string): void {
    if (this.#alone) {
      this.#alone = false;
      const start = this.#room(text);
      this.#filled = writeText(text, this.#chunk, start);
      return this.#writeSmall(start);
    }
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
    const isAlone = reader.take(chunk, count) === 1 && this.#texts === '';
    this.#reading = false;
    this.#alone = isAlone;
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
