import { longestName, NameTable } from './name-table.js';
import { ProtocolError } from './protocol-error.js';

/** Maximum nesting: more than real messages have, and safe for the stack. */
const maxDepth = 100;

const wordSize = 4_294_967_296;

/** The value of an absent bytes field. */
export const noBytes = new Uint8Array(0);

/** Shared by all readers: every stream has the same names. */
const names = new NameTable();

/**
 * Reads the fields of a message. For any bytes a method either returns or throws a ProtocolError. Every length is compared
 * with the available bytes before it is used.
 */
export class ProtoReader {
  position: number;
  #buffer: Buffer;
  #depth = 1;

  constructor(buffer: Buffer, position = 0) {
    this.#buffer = buffer;
    this.position = position;
  }

  /** Starts a new message. */
  begin(buffer: Buffer, position: number): void {
    this.#buffer = buffer;
    this.position = position;
    this.#depth = 1;
  }

  /** Reads field number and wire type of the next field. */
  tag(): number {
    const tag = this.uint32();
    if (tag >>> 3 === 0) throw new ProtocolError('a field has the number 0');
    return tag;
  }

  uint32(): number {
    // Past the end the byte is undefined, and the comparison is false.
    const byte = this.#buffer[this.position] as number;
    if (byte < 0x80) {
      this.position++;
      return byte;
    }
    const low = this.#varint();
    if (this.#high !== 0) throw new ProtocolError('a tag or a length has more than 32 bits');
    return low >>> 0;
  }

  int32(): number {
    return this.#varint() | 0;
  }

  bool(): boolean {
    return this.int64() !== 0;
  }

  int64(): number | bigint {
    const low = this.#varint();
    return fromWords(low, this.#high);
  }

  sint64(): number | bigint {
    const low = this.#varint();
    const high = this.#high;
    const sign = -(low & 1);
    return fromWords(((low >>> 1) | (high << 31)) ^ sign, (high >>> 1) ^ sign);
  }

  double(): number {
    const at = this.position;
    if (at + 8 > this.#buffer.length) throw new ProtocolError('a message ends within a number');
    this.position = at + 8;
    return this.#buffer.readDoubleLE(at);
  }

  string(end: number): string {
    const stop = this.delimited(end);
    const start = this.position;
    this.position = stop;
    if (start === stop) return '';
    return stop - start <= longestName
      ? names.get(this.#buffer, start, stop)
      : this.#buffer.toString('utf8', start, stop);
  }

  /**
   * Returns a view when it covers more than half of its network buffer, otherwise a copy: a large body is not copied again,
   * and a small value does not keep a large buffer in memory.
   */
  bytes(end: number): Uint8Array {
    const stop = this.delimited(end);
    const view = this.#buffer.subarray(this.position, stop);
    this.position = stop;
    return view.length * 2 > this.#buffer.buffer.byteLength ? view : Buffer.from(view);
  }

  /** Reads a length and returns where the value ends. Throws when it would end after `end`. */
  delimited(end: number): number {
    const length = this.uint32();
    if (length > end - this.position) throw new ProtocolError('a value is longer than the message it is in');
    return this.position + length;
  }

  /** Enters a nested message and returns where it ends. */
  nested(end: number): number {
    if (++this.#depth > maxDepth) throw new ProtocolError(`messages are nested more than ${maxDepth} deep`);
    return this.delimited(end);
  }

  /** Enters an absent message, which has no fields. */
  nothing(): number {
    this.#depth++;
    return this.position;
  }

  /** Leaves a message. Throws when its last field did not end at `end`. */
  leave(end: number): void {
    if (this.position !== end) throw new ProtocolError('a field is longer than the message it is in');
    this.#depth--;
  }

  /** Skips an unknown field. Throws for a known field number with another wire type. */
  skip(tag: number, end: number, known: readonly number[]): void {
    if (known.includes(tag >>> 3)) throw new ProtocolError(`field ${tag >>> 3} has the wrong wire type ${tag & 7}`);
    switch (tag & 7) {
      case 0:
        this.#varint();
        break;
      case 1:
        this.position += 8;
        break;
      case 2:
        this.position = this.delimited(end);
        break;
      case 5:
        this.position += 4;
        break;
      default:
        throw new ProtocolError(`field ${tag >>> 3} has the wire type ${tag & 7}, which the protocol does not use`);
    }
    if (this.position > end) throw new ProtocolError('a field is longer than the message it is in');
  }

  /** The upper half of the last varint. */
  #high = 0;

  /** Returns the lower half of a varint of up to ten bytes and stores the upper half in `#high`. */
  #varint(): number {
    const buffer = this.#buffer;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = buffer[this.position++];
      if (byte === undefined) throw new ProtocolError('a message ends within a number');
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) {
        this.#high = high;
        return low;
      }
    }
    throw new ProtocolError('a number is longer than ten bytes');
  }
}

/** Returns a number when it is exact, otherwise a bigint. */
function fromWords(low: number, high: number): number | bigint {
  const value = (high | 0) * wordSize + (low >>> 0);
  return Number.isSafeInteger(value) ? value : (BigInt(high | 0) << 32n) | BigInt(low >>> 0);
}
