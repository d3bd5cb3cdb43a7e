/**
 * Encoded AMQP values as bytes: finding where a value ends and writing single values, without decoding what is only passed
 * on. A decoded and encoded value loses its type (a double 3.0 becomes a uint).
 */

/** Bytes of a value with a fixed width, by the high nibble of its constructor. */
const fixedWidths: readonly number[] = [-1, -1, -1, -1, 0, 1, 2, 4, 8, 16];

export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

/** Returns the offset behind the value that starts at `at`. Throws `MalformedMessage` when it does not fit the buffer. */
export function valueEnd(buffer: Buffer, at: number): number {
  let position = at;
  // A described value: its descriptor is a value of its own. Nested descriptors are legal, and as deep as the bytes reach.
  while (buffer[position] === 0x00) position = valueEnd(buffer, position + 1);
  const code = buffer[position];
  if (code === undefined) throw new MalformedMessage(`a value is missing at byte ${position}`);
  position += 1;
  const kind = code >>> 4;
  const fixed = fixedWidths[kind];
  let end: number;
  if (fixed !== undefined && fixed >= 0) end = position + fixed;
  else if (kind === 0xa || kind === 0xc || kind === 0xe) end = position + 1 + (buffer[position] ?? Number.NaN);
  else if ((kind === 0xb || kind === 0xd || kind === 0xf) && position + 4 <= buffer.length) {
    end = position + 4 + buffer.readUInt32BE(position);
  } else throw new MalformedMessage(`0x${code.toString(16)} at byte ${position - 1} is no AMQP type`);
  if (!(end <= buffer.length)) throw new MalformedMessage(`a value at byte ${at} is cut off`);
  return end;
}

/** Reads the items of an encoded list or map (without descriptor) as raw values; null for any other type. */
export function compoundItems(buffer: Buffer, at: number): Buffer[] | null {
  const code = buffer[at];
  if (code === 0x45) return [];
  let position: number;
  let count: number;
  if (code === 0xc0 || code === 0xc1) {
    count = buffer[at + 2] ?? 0;
    position = at + 3;
  } else if (code === 0xd0 || code === 0xd1) {
    if (at + 9 > buffer.length) throw new MalformedMessage(`a list or map at byte ${at} is cut off`);
    count = buffer.readUInt32BE(at + 5);
    position = at + 9;
  } else return null;
  const items: Buffer[] = [];
  for (let i = 0; i < count; i += 1) {
    const end = valueEnd(buffer, position);
    items.push(buffer.subarray(position, end));
    position = end;
  }
  return items;
}

/** Reads an encoded string, symbol or binary; undefined for any other type. */
export function variableBytes(encoded: Buffer): Buffer | undefined {
  const code = encoded[0];
  if (code === 0xa0 || code === 0xa1 || code === 0xa3) return encoded.subarray(2);
  if (code === 0xb0 || code === 0xb1 || code === 0xb3) return encoded.subarray(5);
  return undefined;
}

function variable(code8: number, code32: number, content: Buffer): Buffer {
  const short = content.length < 256;
  const encoded = Buffer.allocUnsafe((short ? 2 : 5) + content.length);
  encoded[0] = short ? code8 : code32;
  if (short) encoded[1] = content.length;
  else encoded.writeUInt32BE(content.length, 1);
  content.copy(encoded, short ? 2 : 5);
  return encoded;
}

export const encodeString = (value: string): Buffer => variable(0xa1, 0xb1, Buffer.from(value));
export const encodeSymbol = (value: string): Buffer => variable(0xa3, 0xb3, Buffer.from(value, 'ascii'));
export const encodeBinary = (value: Buffer): Buffer => variable(0xa0, 0xb0, value);

function wide(code: number, value: number): Buffer {
  const encoded = Buffer.allocUnsafe(9);
  encoded[0] = code;
  writeInt64(encoded, value, 1);
  return encoded;
}

export const encodeLong = (value: number): Buffer => wide(0x81, value);
export const encodeTimestamp = (unixMs: number): Buffer => wide(0x83, Math.round(unixMs));

export function encodeInt(value: number): Buffer {
  const encoded = Buffer.allocUnsafe(5);
  encoded[0] = 0x71;
  encoded.writeInt32BE(value, 1);
  return encoded;
}

/** Writes a safe integer as 8 bytes without a bigint. */
export function writeInt64(target: Buffer, value: number, at: number): void {
  const high = Math.floor(value / 0x1_0000_0000);
  target.writeInt32BE(high, at);
  target.writeUInt32BE(value - high * 0x1_0000_0000, at + 4);
}

/** Encodes a list or map of raw items, with a section or composite descriptor in front. */
export function encodeCompound(descriptor: number, kind: 'list' | 'map', items: readonly Buffer[]): Buffer {
  let bytes = 4;
  for (const item of items) bytes += item.length;
  const encoded = Buffer.allocUnsafe(8 + bytes);
  encoded[0] = 0x00;
  encoded[1] = 0x53;
  encoded[2] = descriptor;
  encoded[3] = kind === 'list' ? 0xd0 : 0xd1;
  encoded.writeUInt32BE(bytes, 4);
  encoded.writeUInt32BE(items.length, 8);
  let at = 12;
  for (const item of items) at += item.copy(encoded, at);
  return encoded;
}
