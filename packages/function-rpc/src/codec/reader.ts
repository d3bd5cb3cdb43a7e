import { longestName, NameTable } from './name-table.js';
import { ProtocolError } from './protocol-error.js';

/** Messages within messages: more than any real message has, and few enough for the stack. */
const deepest = 100;

const wordSize = 4_294_967_296;

/** The value of bytes that are not there. */
export const noBytes = new Uint8Array(0);

/** Shared by all readers: names are the same on every stream. */
const names = new NameTable();

/**
 * Reads the parts of a message. Whatever the bytes are, a method returns or throws a ProtocolError; no length is believed
 * before it was compared with what is there.
 */
export class Reader {
  position: number;
  #buffer: Buffer;
  #depth = 1;

  constructor(buffer: Buffer, position = 0) {
    this.#buffer = buffer;
    this.position = position;
  }

  /** Begins a new message. */
  begin(buffer: Buffer, position: number): void {
    this.#buffer = buffer;
    this.position = position;
    this.#depth = 1;
  }

  /** Number and wire type of the next field. */
  tag(): number {
    const tag = this.uint32();
    if (tag >>> 3 === 0) throw new ProtocolError('a field has the number 0');
    return tag;
  }

  uint32(): number {
    // Past the end the byte is undefined, which is not smaller than anything.
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
   * A copy, or a view when what it would keep in memory is less than twice its own size: a large body is not copied again,
   * and a small value never holds on to the network buffer it came in.
   */
  bytes(end: number): Uint8Array {
    const stop = this.delimited(end);
    const view = this.#buffer.subarray(this.position, stop);
    this.position = stop;
    return view.length * 2 > this.#buffer.buffer.byteLength ? view : Buffer.from(view);
  }

  /** Where the length-delimited value that comes next ends; it ends no later than what it is part of. */
  delimited(end: number): number {
    const length = this.uint32();
    if (length > end - this.position) throw new ProtocolError('a value is longer than the message it is in');
    return this.position + length;
  }

  /** Enters a message and says where it ends. */
  nested(end: number): number {
    if (++this.#depth > deepest) throw new ProtocolError(`messages are nested more than ${deepest} deep`);
    return this.delimited(end);
  }

  /** Enters a message that was left out, which has no fields. */
  nothing(): number {
    this.#depth++;
    return this.position;
  }

  /** Leaves a message: its last field has to end where it does. */
  leave(end: number): void {
    if (this.position !== end) throw new ProtocolError('a field is longer than the message it is in');
    this.#depth--;
  }

  /** Passes over a field that is not known by this number. A known number with another wire type is an error. */
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

  /** Returns the lower half of a varint of up to ten bytes, and leaves the upper half in `#high`. */
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

/** A number where it is exact, a bigint otherwise. */
function fromWords(low: number, high: number): number | bigint {
  const value = (high | 0) * wordSize + (low >>> 0);
  return Number.isSafeInteger(value) ? value : (BigInt(high | 0) << 32n) | BigInt(low >>> 0);
}
