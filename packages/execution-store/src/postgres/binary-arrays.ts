/** Types of array elements, by PostgreSQL's own numbers, which never change. */
const elementTypes = { boolean: 16, bigint: 20, integer: 23, text: 25, timestamptz: 1184, uuid: 2950 };
export type ElementType = keyof typeof elementTypes;

/** PostgreSQL counts microseconds from the year 2000. */
const epochMs = 946_684_800_000;
const firstBytes = 65_536;
/** A buffer that one large batch has needed is not kept for ever. */
const keptBytes = 4_194_304;
const shortLength = 40;

/**
 * Arrays for statements in PostgreSQL's binary form: nothing is escaped and nothing is parsed, on either side, which is
 * half of what rows cost as text. One buffer serves all arrays of a statement, one after the other, and all statements
 * of a lane: it may be used again when the statement has been answered.
 */
export class BinaryArrays {
  #buffer = Buffer.allocUnsafeSlow(firstBytes);
  #length = 0;
  #starts: number[] = [];

  clear(): void {
    if (this.#buffer.length > keptBytes) this.#buffer = Buffer.allocUnsafeSlow(firstBytes);
    this.#length = 0;
    this.#starts = [];
  }

  /** Begins the next array; as many elements have to follow. */
  begin(type: ElementType, count: number): void {
    this.#starts.push(this.#length);
    this.#reserve(20);
    this.#int32(count === 0 ? 0 : 1); // dimensions
    this.#int32(1); // may hold nulls
    this.#int32(elementTypes[type]);
    if (count === 0) return;
    this.#int32(count);
    this.#int32(1); // the first index
  }

  /** Returns how many bytes it takes. */
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

  /** Any whole number up to 2^53. */
  bigint(value: number): void {
    this.#reserve(12);
    this.#int32(8);
    this.#int32(Math.floor(value / 4_294_967_296));
    this.#int32(value % 4_294_967_296);
  }

  /** Epoch milliseconds. */
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

  /** The arrays, in the order of their beginning; good until the next `clear`. */
  values(): Buffer[] {
    return this.#starts.map((start, index) => this.#buffer.subarray(start, this.#starts[index + 1] ?? this.#length));
  }

  /** Names and states are written quicker here than the call into the runtime takes; 0 when it is none of these. */
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

/** By character code. */
const hexDigits = new Uint8Array(128);
for (let value = 0; value < 16; value += 1) {
  const digit = value.toString(16);
  hexDigits[digit.charCodeAt(0)] = value;
  hexDigits[digit.toUpperCase().charCodeAt(0)] = value;
}
