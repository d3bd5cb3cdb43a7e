const none = Buffer.alloc(0);
const smallestRoom = 1_024;

/**
 * A buffer that grows. Copies what is appended: the read buffer is used for the next read, and a list of one-byte parts would
 * take a hundred times their size. Capacity doubles, so that each byte is moved a few times at most.
 */
export class GrowingBytes {
  #bytes: Buffer = none;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends a part of `from`. `atMost` limits the capacity if the final length is known; it is not allocated in advance. */
  append(from: Buffer, start: number, end: number, atMost = Number.POSITIVE_INFINITY): void {
    const length = this.#length + end - start;
    if (this.#bytes.length < length) this.#grow(length, atMost);
    from.copy(this.#bytes, this.#length, start, end);
    this.#length = length;
  }

  /** Returns all bytes and empties the buffer. */
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
