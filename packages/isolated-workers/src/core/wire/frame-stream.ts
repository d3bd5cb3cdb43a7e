import { writeSync } from 'node:fs';
import type { OnReadOpts, Socket, SocketConstructorOpts } from 'node:net';
import { SerializationError } from '../../types/errors.js';
import { encodeMessage, textFrameBytes, writeText, writeTexts } from './frame-codec.js';
import { mostTogether } from './combining.js';
import { FrameReader, type FrameReaderOptions } from './frame-reader.js';
import type { WireMessage } from '../../types/wire-message.js';

export type FrameStreamOptions = FrameReaderOptions;

const chunkBytes = 64 * 1024;
/** Messages with JSON up to this length use a shared buffer. */
const smallText = 8 * 1024;

/**
 * Sends and receives messages over a byte stream. The response to a single message is written at once. Otherwise small
 * messages of one turn of the event loop are combined into one frame.
 */
export class FrameStream {
  readonly #socket: Socket;
  readonly #options: FrameStreamOptions;
  /** The descriptor of the socket, if known: small frames are written to it directly, which is faster. */
  readonly #fd: number | undefined;
  #chunk = Buffer.allocUnsafe(chunkBytes);
  #filled = 0;
  /** Comma-separated JSON of messages that are written at the end of this turn. */
  #texts = '';
  #scheduled = false;
  /** True while received messages are delivered; responses are written afterwards. */
  #reading = false;
  /** True when the last message was received alone and nothing was sent since: the next one is not delayed. */
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

  /** Creates a stream over an owned descriptor, which can be read into buffers of the reader. */
  static overDescriptor(
    fd: number,
    options: FrameStreamOptions,
  ): { readonly socket: Socket; readonly frames: FrameStream } {
    const reader = new FrameReader(options);
    const onread: OnReadOpts = {
      buffer: () => reader.room(),
      callback(count, buffer) {
        frames.#read(reader, buffer as Buffer, count); // from `buffer` above
        return true;
      },
    };
    // Documented for the constructor, but missing in its type.
    const socketOptions: SocketConstructorOpts & { readonly onread: OnReadOpts } = {
      fd,
      readable: true,
      writable: true,
      onread,
    };
    const { Socket } = process.getBuiltinModule('node:net'); // on demand: threads and hosts never need it here
    const socket = new Socket(socketOptions);
    const frames = new FrameStream(socket, options, fd);
    return { socket, frames };
  }

  /** Sends a message. Throws `SerializationError`, and sends nothing, when it cannot be serialized. */
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

  /** True when everything that was sent has left this process. */
  get isFlushed(): boolean {
    return this.#texts === '' && this.#socket.writableLength === 0;
  }

  /** Writes the queued messages now. */
  flush(): void {
    const texts = this.#texts;
    if (texts === '') return;
    this.#texts = '';
    const start = this.#room(texts);
    this.#filled = writeTexts(texts, this.#chunk, start);
    this.#writeSmall(start);
  }

  /** Returns the position in the chunk with room for this text. */
  #room(text: string): number {
    const room = textFrameBytes + text.length * 3;
    if (this.#filled + room > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafe(Math.max(chunkBytes, room));
      this.#filled = 0;
    }
    return this.#filled;
  }

  /** Writes the chunk from `start`, directly to the descriptor if the stream has nothing queued. */
  #writeSmall(start: number): void {
    let written = 0;
    if (this.#fd !== undefined && this.#socket.writableLength === 0) {
      try {
        written = writeSync(this.#fd, this.#chunk, start, this.#filled - start);
      } catch {
        // The pipe is full or broken: the stream waits or reports the error.
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
      if (together > mostTogether || together * 3 + 3 > this.#options.maxFrameBytes) {
        this.flush();
        this.#texts = text;
      } else this.#texts += `,${text}`;
    }
    if (this.#scheduled || this.#reading) return;
    this.#scheduled = true;
    // After all promises of this turn, so that responses that become ready together are combined.
    process.nextTick(this.#flushScheduled);
  }

  readonly #flushScheduled = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  #read(reader: FrameReader, chunk: Buffer, count: number): void {
    this.#reading = true;
    const isAlone = reader.read(chunk, count) === 1 && this.#texts === '';
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
      throw new SerializationError(`The message has ${bytes} bytes, more than maxFrameBytes (${maxFrameBytes}).`);
  }
}
