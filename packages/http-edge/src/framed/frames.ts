import type { Socket } from 'node:net';
import { GrowingBytes } from '../client/growing-bytes.js';

/** The protocol's name in the `upgrade` header. */
export const framedProtocol = 'drover-calls';
/** Head and body of a request together: a longer one would hold up the others. */
export const maxFramedRequestBytes = 65_536;
/** Calls that are in flight on one connection. */
export const maxFramedCalls = 1_024;
/** The id of no call: the server accepts no more calls on this connection. */
export const noMoreCalls = 0;

const headBytes = 8;
/** Larger bodies are not copied. */
const smallBodyBytes = 16_384;
/** What is collected before it is written, even if the turn of the event loop goes on. */
const batchLength = 65_536;
const nothing = Buffer.alloc(0);

export interface CallFrameReceiver {
  /** `bytes` may be a part of those that were given to `read`. */
  frame(id: number, bytes: Buffer): void;
  /** A frame is larger than the limit: its bytes are skipped. */
  tooLarge(id: number): void;
}

/** Splits a stream of bytes into frames: length of the content and id of the call, four bytes each, and the content. */
export class CallFrameReader {
  readonly #maxBytes: number;
  readonly #receiver: CallFrameReceiver;
  /** Of a frame that has arrived in part, with its head. */
  readonly #part = new GrowingBytes();
  #needed = headBytes;
  #skipped = 0;

  constructor(maxBytes: number, receiver: CallFrameReceiver) {
    this.#maxBytes = maxBytes;
    this.#receiver = receiver;
  }

  read(bytes: Buffer, end = bytes.length): void {
    let at = 0;
    while (at < end) {
      if (this.#skipped > 0) {
        const next = Math.min(end, at + this.#skipped);
        this.#skipped -= next - at;
        at = next;
      } else at = this.#part.length === 0 ? this.#begin(bytes, at, end) : this.#goOn(bytes, at, end);
    }
  }

  #begin(bytes: Buffer, at: number, end: number): number {
    const begin = at + headBytes;
    if (begin <= end) {
      const length = bytes.readUInt32BE(at);
      if (length > this.#maxBytes) return this.#skip(bytes.readUInt32BE(at + 4), length, begin);
      const next = begin + length;
      if (next <= end) {
        this.#receiver.frame(bytes.readUInt32BE(at + 4), length === 0 ? nothing : bytes.subarray(begin, next));
        return next;
      }
      this.#needed = headBytes + length;
    } else this.#needed = headBytes;
    this.#part.append(bytes, at, end, this.#needed);
    return end;
  }

  #goOn(bytes: Buffer, at: number, end: number): number {
    const next = Math.min(end, at + this.#needed - this.#part.length);
    this.#part.append(bytes, at, next, this.#needed);
    if (this.#part.length < this.#needed) return next;
    const frame = this.#part.take();
    // A head alone may be a whole frame, too large, or the beginning of one.
    if (this.#needed === headBytes) this.#begin(frame, 0, headBytes);
    else this.#receiver.frame(frame.readUInt32BE(4), frame.subarray(headBytes));
    return next;
  }

  #skip(id: number, length: number, next: number): number {
    this.#receiver.tooLarge(id);
    this.#skipped = length;
    return next;
  }
}

/** Writes frames. Those of one turn of the event loop go out in one write: a system call costs more than a small frame. */
export class CallFrameWriter {
  readonly #socket: Socket;
  #text = '';
  #isScheduled = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Writes a frame without content. */
  writeEmpty(id: number): void {
    this.write(id, '', undefined, 0);
  }

  /** Writes a frame. `head` has no characters beyond Latin-1; `bodyBytes` is the length of the body in bytes. */
  write(id: number, head: string, body: string | Buffer | undefined, bodyBytes: number): void {
    this.#text += frameHead(head.length + bodyBytes, id) + head;
    if (typeof body === 'string' && bodyBytes === body.length) this.#text += body;
    else if (body !== undefined) this.#add(typeof body === 'string' ? Buffer.from(body) : body);
    if (this.#text.length >= batchLength) this.#flush();
    if (this.#isScheduled || this.#text === '') return;
    this.#isScheduled = true;
    setImmediate(this.#endTurn);
  }

  #add(body: Buffer): void {
    if (body.length <= smallBodyBytes) {
      this.#text += body.toString('latin1');
      return;
    }
    this.#socket.cork();
    this.#flush();
    this.#socket.write(body);
    this.#socket.uncork();
  }

  readonly #endTurn = (): void => {
    this.#isScheduled = false;
    if (this.#text !== '') this.#flush();
  };

  #flush(): void {
    const text = this.#text;
    this.#text = '';
    if (this.#socket.writable) this.#socket.write(text, 'latin1');
  }
}

function frameHead(length: number, id: number): string {
  return fourBytes(length) + fourBytes(id);
}

function fourBytes(value: number): string {
  return String.fromCharCode(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
}
