const slots = 1024;

/** The longest string, in bytes, that a NameTable remembers. */
export const longestName = 32;

/**
 * Remembers short strings by their bytes. The same few names (bindings, trigger properties, functions, log categories) come
 * again and again, and finding one here takes a third of the time of decoding it. Such a string is also known to the engine
 * already when it becomes the key of a record.
 *
 * One slot a hash: a new string replaces the one that was there, so the table never grows.
 */
export class NameTable {
  readonly #names: string[] = Array.from({ length: slots }, () => '');
  readonly #bytes = new Uint8Array(slots * longestName);
  readonly #lengths = new Uint8Array(slots);

  /** The string in `buffer` between the two positions, at most `longestName` bytes apart. */
  get(buffer: Buffer, start: number, stop: number): string {
    const slot = slotOf(buffer, start, stop);
    if (this.#lengths[slot] === stop - start) {
      const bytes = this.#bytes;
      const offset = slot * longestName - start;
      let at = start;
      while (at < stop && bytes[offset + at] === buffer[at]) at++;
      if (at === stop) return this.#names[slot] ?? '';
    }
    return this.#learn(slot, buffer, start, stop);
  }

  #learn(slot: number, buffer: Buffer, start: number, stop: number): string {
    const name = buffer.toString('utf8', start, stop);
    this.#bytes.set(buffer.subarray(start, stop), slot * longestName);
    this.#lengths[slot] = stop - start;
    this.#names[slot] = name;
    return name;
  }
}

/** From the length and three of the bytes: what looks the same is told apart by comparing. */
function slotOf(buffer: Buffer, start: number, stop: number): number {
  const length = stop - start;
  const first = buffer[start] ?? 0;
  const middle = buffer[start + (length >> 1)] ?? 0;
  const last = buffer[stop - 1] ?? 0;
  const mixed = Math.imul((length << 24) ^ (first << 16) ^ (last << 8) ^ middle, 0x9e3779b1);
  return mixed >>> 22;
}
