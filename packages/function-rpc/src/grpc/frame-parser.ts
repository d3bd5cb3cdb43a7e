import { GrpcStatus, GrpcStatusError } from './grpc-status.js';

/** A flag that says whether the message is compressed, and four bytes of length. */
export const prefixBytes = 5;

/** What is allocated for a message before anything of it has arrived, however long it claims to be. */
const firstAllocation = 65_536;

const empty = Buffer.alloc(0);

/**
 * Finds the messages in a stream of chunks. A message that lies within a chunk is not copied; one that spans chunks is
 * gathered in a buffer that grows with what arrives, so each byte is copied at most twice and a claimed length costs nothing.
 *
 * After `next` returned true, the message is what lies in `buffer` between `start` and `end`.
 */
export class FrameParser {
  /** Longer messages end the stream. May be changed between two messages. */
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

  /** True within a message: an end of the stream here has cut it off. */
  get isWithinMessage(): boolean {
    return this.#inMessage || this.#prefixFilled > 0;
  }

  /** True while there is something that `next` has not looked at. */
  get hasMore(): boolean {
    return this.#at < this.#chunk.length;
  }

  /** Takes the next chunk; what `next` has not yet returned of the last one stays before it. */
  push(chunk: Buffer): void {
    this.#chunk = this.#at < this.#chunk.length ? Buffer.concat([this.#chunk.subarray(this.#at), chunk]) : chunk;
    this.#at = 0;
  }

  /** Goes to the next whole message, if there is one. Throws a GrpcStatusError for one that is not acceptable. */
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
    const taken = Math.min(available, prefixBytes - this.#prefixFilled);
    this.#chunk.copy(this.#prefix, this.#prefixFilled, this.#at, this.#at + taken);
    this.#at += taken;
    this.#prefixFilled += taken;
    if (this.#prefixFilled < prefixBytes) return false;
    this.#prefixFilled = 0;
    this.#begin(this.#prefix, 0);
    return true;
  }

  #begin(buffer: Buffer, at: number): void {
    if (buffer[at] !== 0) {
      throw new GrpcStatusError(GrpcStatus.UNIMPLEMENTED, 'compressed messages are not understood here');
    }
    this.#length = buffer.readUInt32BE(at + 1);
    if (this.#length > this.maxMessageBytes) {
      throw new GrpcStatusError(
        GrpcStatus.RESOURCE_EXHAUSTED,
        `a message of ${this.#length} bytes is longer than the ${this.maxMessageBytes} that are allowed`,
      );
    }
    this.#inMessage = true;
  }

  #gather(available: number): boolean {
    const taken = Math.min(available, this.#length - this.#gatheredFilled);
    this.#makeRoom(this.#gatheredFilled + taken);
    this.#chunk.copy(this.#gathered, this.#gatheredFilled, this.#at, this.#at + taken);
    this.#at += taken;
    this.#gatheredFilled += taken;
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
