import { GrpcStatus, GrpcStatusError } from './grpc-status.js';

/** One byte that marks compression, and four bytes of length. */
export const prefixBytes = 5;

/** Allocated for a message before its bytes arrive, however long it claims to be. */
const firstAllocation = 65_536;

const empty = Buffer.alloc(0);

/**
 * Splits a stream of chunks into messages. A message within one chunk is not copied. One that spans chunks is gathered in a
 * buffer that grows with the bytes that arrive, so that each byte is copied at most twice and a claimed length costs nothing.
 *
 * After `next` returned true, the message is in `buffer` between `start` and `end`.
 */
export class FrameParser {
  /** `next` throws for longer messages. May be changed between two messages. */
  maxMessageBytes: number;
  buffer: Buffer = empty;
  start = 0;
  end = 0;

  #chunk: Buffer = empty;
  #at = 0;
  readonly #prefix = Buffer.alloc(prefixBytes);
  #prefixFilled = 0;
  /** The message that spans chunks; empty between messages. */
  #gathered: Buffer = empty;
  #gatheredFilled = 0;
  #length = 0;
  #inMessage = false;

  constructor(maxMessageBytes: number) {
    this.maxMessageBytes = maxMessageBytes;
  }

  /** True within a message: a stream that ends here is truncated. */
  get isWithinMessage(): boolean {
    return this.#inMessage || this.#prefixFilled > 0;
  }

  /** True while there are bytes that `next` has not consumed. */
  get hasMore(): boolean {
    return this.#at < this.#chunk.length;
  }

  /** Appends a chunk to the bytes that `next` has not consumed. */
  push(chunk: Buffer): void {
    this.#chunk = this.#at < this.#chunk.length ? Buffer.concat([this.#chunk.subarray(this.#at), chunk]) : chunk;
    this.#at = 0;
  }

  /** Advances to the next complete message. Returns false if there is none. Throws a GrpcStatusError for an invalid one. */
  next(): boolean {
    if (!this.#inMessage && !this.#readPrefix()) return false;
    const available = this.#chunk.length - this.#at;
    if (this.#gatheredFilled === 0 && available >= this.#length) {
      this.buffer = this.#chunk;
      this.start = this.#at;
      this.end = this.#at + this.#length;
      this.#at = this.end;
    } else if (!this.#gather(available)) {
      return false;
    }
    this.#inMessage = false;
    return true;
  }

  #readPrefix(): boolean {
    const available = this.#chunk.length - this.#at;
    if (this.#prefixFilled === 0 && available >= prefixBytes) {
      this.#begin(this.#chunk, this.#at);
      this.#at += prefixBytes;
      return true;
    }
    const copied = Math.min(available, prefixBytes - this.#prefixFilled);
    this.#chunk.copy(this.#prefix, this.#prefixFilled, this.#at, this.#at + copied);
    this.#at += copied;
    this.#prefixFilled += copied;
    if (this.#prefixFilled < prefixBytes) return false;
    this.#prefixFilled = 0;
    this.#begin(this.#prefix, 0);
    return true;
  }

  #begin(buffer: Buffer, at: number): void {
    if (buffer[at] !== 0) {
      throw new GrpcStatusError(GrpcStatus.UNIMPLEMENTED, 'compressed messages are not supported');
    }
    this.#length = buffer.readUInt32BE(at + 1);
    if (this.#length > this.maxMessageBytes) {
      throw new GrpcStatusError(
        GrpcStatus.RESOURCE_EXHAUSTED,
        `a message of ${this.#length} bytes exceeds the limit of ${this.maxMessageBytes}`,
      );
    }
    this.#inMessage = true;
  }

  #gather(available: number): boolean {
    const copied = Math.min(available, this.#length - this.#gatheredFilled);
    this.#makeRoom(this.#gatheredFilled + copied);
    this.#chunk.copy(this.#gathered, this.#gatheredFilled, this.#at, this.#at + copied);
    this.#at += copied;
    this.#gatheredFilled += copied;
    if (this.#gatheredFilled < this.#length) return false;
    this.buffer = this.#gathered;
    this.start = 0;
    this.end = this.#length;
    this.#gathered = empty;
    this.#gatheredFilled = 0;
    return true;
  }

  #makeRoom(needed: number): void {
    if (needed <= this.#gathered.length) return;
    const larger = Buffer.allocUnsafeSlow(
      Math.min(this.#length, Math.max(needed, firstAllocation, this.#gathered.length * 2)),
    );
    this.#gathered.copy(larger, 0, 0, this.#gatheredFilled);
    this.#gathered = larger;
  }
}
