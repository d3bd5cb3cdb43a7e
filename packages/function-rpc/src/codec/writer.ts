import { types } from 'node:util';
import { ProtocolError } from './protocol-error.js';

/** Up to this length a loop over the characters is faster than Buffer.write. */
const shortString = 24;

/** Above this length the bytes are counted before room is reserved. */
const longString = 1024;

const wordSize = 4_294_967_296;

/** The number of places that generated code may use. */
const places = 256;

/**
 * Writes the fields of messages into a growing buffer.
 *
 * The length of a nested message precedes it but is not known yet. `open` reserves as many bytes as the length took the last
 * time at this place, and `close` fills them in. Only after a wrong guess the content is moved by a few bytes.
 */
export class ProtoWriter {
  /** The position of the next byte. Setting it back discards what was written since. */
  position = 0;
  #buffer: Buffer;
  readonly #widths = new Uint8Array(places).fill(1);

  constructor(buffer: Buffer = Buffer.allocUnsafeSlow(16_384)) {
    this.#buffer = buffer;
  }

  get buffer(): Buffer {
    return this.#buffer;
  }

  /** Continues in another buffer, from its beginning. */
  use(buffer: Buffer): void {
    this.#buffer = buffer;
    this.position = 0;
  }

  /** Grows the buffer when fewer than `bytes` are free. */
  reserve(bytes: number): void {
    const needed = this.position + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.position);
    this.#buffer = larger;
  }

  /** Copies encoded bytes. */
  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.#buffer.set(bytes, this.position);
    this.position += bytes.length;
  }

  int32(tag: number, value: number): void {
    if (!Number.isInteger(value)) throw new ProtocolError(`${String(value)} is not a whole number`);
    if (value < 0) return this.int64(tag, value);
    this.reserve(12);
    this.position = putVarint(this.#buffer, putVarint(this.#buffer, this.position, tag), value >>> 0);
  }

  bool(tag: number, value: boolean): void {
    this.int32(tag, value ? 1 : 0);
  }

  int64(tag: number, value: number | bigint): void {
    this.reserve(12);
    const { low, high } = toWords(value);
    this.position = putWords(this.#buffer, putVarint(this.#buffer, this.position, tag), low, high);
  }

  sint64(tag: number, value: number | bigint): void {
    this.reserve(12);
    this.position = putZigzag(this.#buffer, putVarint(this.#buffer, this.position, tag), value);
  }

  packedSint64(tag: number, values: readonly (number | bigint)[], place: number): void {
    const start = this.open(tag, place);
    for (const value of values) {
      this.reserve(10);
      this.position = putZigzag(this.#buffer, this.position, value);
    }
    this.close(start, place);
  }

  double(tag: number, value: number): void {
    if (typeof value !== 'number') throw new ProtocolError(`expected a number, got a ${typeof value}`);
    this.reserve(10);
    this.position = this.#buffer.writeDoubleLE(value, putVarint(this.#buffer, this.position, tag));
  }

  packedDouble(tag: number, values: readonly number[], place: number): void {
    const start = this.open(tag, place);
    this.reserve(values.length * 8);
    for (const value of values) this.position = this.#buffer.writeDoubleLE(value, this.position);
    this.close(start, place);
  }

  string(tag: number, value: string): void {
    // Checked at run time, because values also come from JavaScript of apps.
    if (typeof value !== 'string') throw new ProtocolError(`expected a string, got a ${typeof value}`);
    const { length } = value;
    this.reserve((length > longString ? Buffer.byteLength(value) : length * 3) + 7);
    const buffer = this.#buffer;
    const start = putVarint(buffer, this.position, tag);
    if (length <= shortString) {
      let at = 0;
      for (; at < length; at++) {
        const character = value.charCodeAt(at);
        if (character > 0x7f) break;
        buffer[start + 1 + at] = character;
      }
      if (at === length) {
        buffer[start] = length;
        this.position = start + 1 + length;
        return;
      }
    }
    const width = varintWidth(length);
    this.#putLength(start, width, buffer.write(value, start + width, 'utf8'));
  }

  bytes(tag: number, value: Uint8Array): void {
    if (!types.isUint8Array(value)) throw new ProtocolError(`expected bytes, got a ${typeof value}`);
    this.reserve(value.length + 7);
    const start = putVarint(this.#buffer, putVarint(this.#buffer, this.position, tag), value.length);
    this.#buffer.set(value, start);
    this.position = start + value.length;
  }

  /** Begins a nested message. `place` identifies the field, so that the width of its length can be remembered. */
  open(tag: number, place: number): number {
    this.reserve(7);
    const start = putVarint(this.#buffer, this.position, tag);
    const width = this.#widths[place] ?? 1;
    // Stored in the gap itself: the same place may be opened again before this one is closed.
    this.#buffer[start] = width;
    this.position = start + width;
    return start;
  }

  /** Ends the nested message that began at `start`. */
  close(start: number, place: number): void {
    const width = this.#buffer[start] ?? 1;
    const length = this.position - start - width;
    this.#putLength(start, width, length);
    this.#widths[place] = varintWidth(length);
  }

  /** Writes `length` at `start`, before the content that begins `width` bytes later. */
  #putLength(start: number, width: number, length: number): void {
    const needed = varintWidth(length);
    if (needed !== width) {
      if (needed > width) this.reserve(needed);
      this.#buffer.copyWithin(start + needed, start + width, start + width + length);
    }
    this.position = putVarint(this.#buffer, start, length) + length;
  }
}

function putVarint(buffer: Buffer, position: number, value: number): number {
  let at = position;
  let rest = value;
  while (rest > 0x7f) {
    buffer[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buffer[at++] = rest;
  return at;
}

function putWords(buffer: Buffer, position: number, low: number, high: number): number {
  let at = position;
  let lower = low;
  let upper = high >>> 0;
  while (upper !== 0) {
    buffer[at++] = (lower & 0x7f) | 0x80;
    lower = ((lower >>> 7) | (upper << 25)) >>> 0;
    upper >>>= 7;
  }
  return putVarint(buffer, at, lower);
}

function putZigzag(buffer: Buffer, position: number, value: number | bigint): number {
  const { low, high } = toWords(value);
  const sign = high >> 31;
  return putWords(buffer, position, ((low << 1) ^ sign) >>> 0, ((high << 1) | (low >>> 31)) ^ sign);
}

function varintWidth(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  return value < 0x1000_0000 ? 4 : 5;
}

/** Returns the two halves of a 64-bit integer in two's complement. */
function toWords(value: number | bigint): { low: number; high: number } {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return { low: value >>> 0, high: Math.floor(value / wordSize) | 0 };
    if (Number.isInteger(value)) return toWords(BigInt(value));
  } else if (BigInt.asIntN(64, value) === value) {
    return { low: Number(BigInt.asUintN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)) };
  }
  throw new ProtocolError(`${String(value)} is not a 64-bit integer`);
}
