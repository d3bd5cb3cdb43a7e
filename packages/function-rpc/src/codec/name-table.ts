const slots = 1024;

/** The longest string, in bytes, that a NameTable caches. */
export const longestName = 32;

/**
 * Caches short strings by their bytes. The same few names (bindings, trigger properties, functions, log categories) occur in
 * every message, and a lookup takes a third of the time of decoding. A cached string is also internalized already when it
 * becomes the key of a record.
 *
 * One slot per hash: a new string replaces the previous one, so the table does not grow.
 */
export class NameTable {
  readonly #names: string[] = Array.from({ length: slots }, () => '');
  readonly #bytes = new Uint8Array(slots * longestName);
  readonly #lengths = new Uint8Array(slots);

  /** Returns the string between the two positions of `buffer`, which are at most `longestName` bytes apart. */
  get(buffer: Buffer, start: number, stop: number): string {
    const slot = slotOf(buffer, start, stop);
    if (this.#lengths[slot] === stop - start) {
      const bytes = this.#bytes;
      const offset = slot * longestName - start;
      let at = start;
      while (at < stop && bytes[offset + at] === buffer[at]) at++;
      if (at === stop) return this.#names[slot] ?? '';
    }
    return this.#store(slot, buffer, start, stop);
  }

  #store(slot: number, buffer: Buffer, start: number, stop: number): string {
    const name = buffer.toString('utf8', start, stop);
    this.#bytes.set(buffer.subarray(start, stop), slot * longestName);
    this.#lengths[slot] = stop - start;
    this.#names[slot] = name;
    return name;
  }
}

/** Hashes the length and three of the bytes. `get` compares all bytes, so collisions are safe. */
function slotOf(buffer: Buffer, start: number, stop: number): number {
  const length = stop - start;
  const first = buffer[start] ?? 0;
  const middle = buffer[start + (length >> 1)] ?? 0;
  const last = buffer[stop - 1] ?? 0;
  const mixed = Math.imul((length << 24) ^ (first << 16) ^ (last << 8) ^ middle, 0x9e3779b1);
  return mixed >>> 22;
}
