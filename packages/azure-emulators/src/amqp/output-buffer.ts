import type { Duplex } from 'node:stream';

const slabBytes = 64 * 1024;
/** Payloads from this size on are handed to the socket as they are; smaller ones are copied next to their frame. */
const copyBelowBytes = 8 * 1024;
const emptyFrame = Buffer.from([0, 0, 0, 8, 2, 0, 0, 0]);
/** A write of the client that fits one packet; larger ones are not held back by its Nagle algorithm. */
const smallChunkBytes = 1400;

/**
 * Collects the frames of one turn of the event loop and writes them with one system call (rhea writes each frame by itself).
 *
 * It also answers silence: SDKs leave Nagle's algorithm on, so a small write of the client that gets no answer (a flow) delays
 * its next one until the delayed ACK, 40 ms. When a small chunk has arrived and nothing was written in the same turn, one
 * empty frame carries the ACK at once.
 */
export class OutputBuffer {
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  #start = 0;
  #end = 0;
  #scheduled = false;
  #answerSilence = false;
  readonly #socketWrite: (chunk: Buffer | string) => boolean;
  readonly #socket: Duplex;
  readonly #mayWriteEmptyFrame: () => boolean;

  constructor(socket: Duplex, mayWriteEmptyFrame: () => boolean) {
    this.#socket = socket;
    this.#mayWriteEmptyFrame = mayWriteEmptyFrame;
    this.#socketWrite = socket.write.bind(socket);
    const socketEnd = socket.end.bind(socket);
    // rhea writes and ends the socket itself: both must keep the order of the frames collected here.
    Object.assign(socket, {
      write: (chunk: Buffer) => this.append(chunk),
      end: () => {
        this.flush();
        return socketEnd();
      },
    });
  }

  /** Bytes not yet taken by the operating system. */
  get pendingBytes(): number {
    return this.#socket.writableLength + this.#end - this.#start;
  }

  noteInput(chunkBytes: number): void {
    if (chunkBytes > smallChunkBytes) return;
    this.#answerSilence = true;
    this.#schedule();
  }

  append(chunk: Buffer): boolean {
    if (chunk.length >= copyBelowBytes) {
      this.flush();
      return this.#writeToSocket(chunk);
    }
    const at = this.reserve(chunk.length);
    chunk.copy(this.#slab, at);
    return true;
  }

  /** Makes room for a small frame; fill `target` from the returned offset before the next call. */
  reserve(bytes: number): number {
    if (this.#end + bytes > slabBytes) {
      this.flush();
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#start = 0;
      this.#end = 0;
    }
    const at = this.#end;
    this.#end += bytes;
    this.#schedule();
    return at;
  }

  get target(): Buffer {
    return this.#slab;
  }

  flush(): void {
    if (this.#end === this.#start) return;
    const chunk = this.#slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#writeToSocket(chunk);
  }

  #writeToSocket(chunk: Buffer): boolean {
    this.#answerSilence = false;
    return this.#socket.writable ? this.#socketWrite(chunk) : false;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#answerSilence && this.#end === this.#start && this.#mayWriteEmptyFrame()) this.append(emptyFrame);
      this.#answerSilence = false;
      this.flush();
    });
  }
}
