const none = Buffer.alloc(0);
const smallestRoom = 1_024;

/**
 * Bytes that come in pieces. Copied, not collected: pieces of one byte would take a hundred times their size, and the buffer they are
 * read into serves the next read. Room doubles, so that each byte is moved a few times at most.
 */
export class GrowingBytes {
  #bytes: Buffer = none;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** `atMost`: as many as there will ever be, if that is known; never a reason to make room for them before they come. */
  append(from: Buffer, start: number, end: number, atMost = Number.POSITIVE_INFINITY): void {
    const length = this.#length + end - start;
    if (this.#bytes.length < length) this.#grow(length, atMost);
    from.copy(this.#bytes, this.#length, start, end);
    this.#length = length;
  }

  /** All of them; nothing is left here. */
  take(): Buffer {
    const bytes = this.#bytes.length === this.#length ? this.#bytes : this.#bytes.subarray(0, this.#length);
    this.#bytes = none;
    this.#length = 0;
    return bytes;
  }

  #grow(length: number, atMost: number): void {
    const room =
      this.#length === 0 ? length : Math.max(length, Math.min(atMost, 2 * this.#bytes.length + smallestRoom));
    const bytes = Buffer.allocUnsafe(room);
    this.#bytes.copy(bytes, 0, 0, this.#length);
    this.#bytes = bytes;
  }
}
