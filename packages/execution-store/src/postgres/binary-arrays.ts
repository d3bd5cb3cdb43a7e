/** Element types by their object identifiers, which PostgreSQL never changes. */
const elementTypes = { boolean: 16, bigint: 20, integer: 23, text: 25, timestamptz: 1184, uuid: 2950 };
export type ElementType = keyof typeof elementTypes;

/** PostgreSQL counts microseconds from the start of the year 2000. */
const epochMs = 946_684_800_000;
const initialBytes = 65_536;
/** A buffer that grew beyond this for one large batch is released with the next `clear`. */
const maxReusedBytes = 4_194_304;
const shortLength = 40;

/**
 * Writes array parameters in PostgreSQL's binary format. Neither side escapes or parses text, which is half of what rows cost in the
 * text format. All arrays of a statement share one buffer, one after the other. It can be reused for the next statement once this one
 * has been answered.
 */
export class BinaryArrays {
  #buffer = Buffer.allocUnsafeSlow(initialBytes);
  #length = 0;
  #starts: number[] = [];

  clear(): void {
    if (this.#buffer.length > maxReusedBytes) this.#buffer = Buffer.allocUnsafeSlow(initialBytes);
    this.#length = 0;
    this.#starts = [];
  }

  /** Starts the next array. The caller must add exactly `count` elements. */
  begin(type: ElementType, count: number): void {
    this.#starts.push(this.#length);
    this.#reserve(20);
    this.#int32(count === 0 ? 0 : 1); // dimensions
    this.#int32(1); // may contain nulls
    this.#int32(elementTypes[type]);
    if (count === 0) return;
    this.#int32(count);
    this.#int32(1); // lower bound
  }

  /** Adds a text, or null. Returns its length in bytes. */
  text(value: string | undefined): number {
    if (value === undefined) return this.#null();
    this.#reserve(4 + value.length * 3);
    const bytes = this.#writeShort(value) || this.#buffer.write(value, this.#length + 4, 'utf8');
    this.#int32(bytes);
    this.#length += bytes;
    return bytes;
  }

  integer(value: number): void {
    this.#reserve(8);
    this.#int32(4);
    this.#int32(value);
  }

  /** Adds a safe integer. */
  bigint(value: number): void {
    this.#reserve(12);
    this.#int32(8);
    this.#int32(Math.floor(value / 4_294_967_296));
    this.#int32(value % 4_294_967_296);
  }

  /** Adds a time in epoch milliseconds. */
  timestamptz(value: number): void {
    this.bigint(Math.round((value - epochMs) * 1_000));
  }

  boolean(value: boolean): void {
    this.#reserve(5);
    this.#int32(1);
    this.#buffer[this.#length] = value ? 1 : 0;
    this.#length += 1;
  }

  uuid(value: string): void {
    this.#reserve(20);
    this.#int32(16);
    let digit = 0;
    for (let byte = 0; byte < 16; byte += 1) {
      if (value.charCodeAt(digit) === 45) digit += 1; // a hyphen
      const high = hexDigits[value.charCodeAt(digit)] ?? 0;
      const low = hexDigits[value.charCodeAt(digit + 1)] ?? 0;
      this.#buffer[this.#length + byte] = (high << 4) | low;
      digit += 2;
    }
    this.#length += 16;
  }

  /**
   * Returns the arrays, in the order in which they were started, as parameters of a statement. They are views of the shared buffer,
   * valid until the next `clear`. Throws unless exactly `count` arrays were started.
   */
  values<Parameters extends readonly unknown[]>(count: Parameters['length']): Parameters {
    const starts = this.#starts;
    if (starts.length !== count) throw new RangeError(`${starts.length} arrays were started, ${count} are needed`);
    const values: readonly Buffer[] = starts.map((start, index) =>
      this.#buffer.subarray(start, starts[index + 1] ?? this.#length),
    );
    return values as readonly unknown[] as Parameters; // a tuple of that length
  }

  /** Writes short ASCII text, such as names and states, without the cost of a native call. Returns 0 for other text. */
  #writeShort(value: string): number {
    const { length } = value;
    if (length > shortLength) return 0;
    const at = this.#length + 4;
    for (let index = 0; index < length; index += 1) {
      const code = value.charCodeAt(index);
      if (code > 127) return 0;
      this.#buffer[at + index] = code;
    }
    return length;
  }

  #null(): number {
    this.#reserve(4);
    this.#int32(-1);
    return 0;
  }

  #int32(value: number): void {
    const at = this.#length;
    this.#buffer[at] = value >>> 24;
    this.#buffer[at + 1] = value >>> 16;
    this.#buffer[at + 2] = value >>> 8;
    this.#buffer[at + 3] = value;
    this.#length = at + 4;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/** Values of hexadecimal digits by character code. */
const hexDigits = new Uint8Array(128);
for (let value = 0; value < 16; value += 1) {
  const digit = value.toString(16);
  hexDigits[digit.charCodeAt(0)] = value;
  hexDigits[digit.toUpperCase().charCodeAt(0)] = value;
}
