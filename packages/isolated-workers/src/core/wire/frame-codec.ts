import type * as v8Module from 'node:v8';
import { SerializationError } from '../../types/errors.js';
import type { Serializer } from '../../types/messages.js';
import { thrownMessage, unsendable } from './error-data.js';
import { isPlainText, notPlain, putBack, toPlain, type Segment } from './plain-value.js';
import { copyOfView } from './own-bytes.js';
import { valueAt, type WireMessage } from '../../types/wire-message.js';

/** The format of a frame: JSON of one message or of a list, or one message whose value is not plain JSON. */
const format = { json: 0, segments: 1, clone: 2, custom: 3, list: 4 } as const;
const segmentKind = { ascii: 0, utf8: 1, bytes: 2 } as const;

/** Four bytes of length and one of format. */
const headerBytes = 5;

/** Returns the JSON of a message that is plain JSON, otherwise undefined. Throws `SerializationError`. */
export function encodeText(message: WireMessage): string | undefined {
  const at = valueAt[message[0]];
  try {
    const isText = at === undefined || message.length <= at || isPlainText(message[at]);
    return isText ? JSON.stringify(message) : undefined;
  } catch (error) {
    throw unsendable(error);
  }
}

/**
 * Encodes a message: as JSON if that is enough, for writers that put several into one frame (see `writeText`), otherwise as a
 * complete frame in one or more buffers. Throws `SerializationError`.
 */
export function encodeMessage(message: WireMessage, serializer: Serializer | undefined): string | Buffer[] {
  const at = valueAt[message[0]];
  if (at === undefined || message.length <= at) return JSON.stringify(message);
  const value: unknown = message[at];
  try {
    if (serializer) return withBytes(format.custom, message, at, serialized(serializer, value));
    const segments: Segment[] = [];
    const plain = toPlain(value, segments);
    if (plain === notPlain) return withBytes(format.clone, message, at, v8().serialize(value));
    if (segments.length === 0) return JSON.stringify(message);
    return withSegments(JSON.stringify(replaced(message, at, plain)), segments);
  } catch (error) {
    throw unsendable(error);
  }
}

/** Returns the bytes that a serializer makes of a value. Throws for anything else, such as the texts of other libraries. */
export function serialized(serializer: Serializer, value: unknown): Uint8Array {
  const bytes: unknown = serializer.serialize(value);
  if (ArrayBuffer.isView(bytes) && !(bytes instanceof DataView)) return bytes as Uint8Array;
  const given = bytes === null ? 'null' : typeof bytes;
  throw new TypeError(
    `serializer '${serializer.name}' returned ${given}. It must return a Uint8Array, such as Buffer.from(text).`,
  );
}

/** Writes a frame with one message, given as JSON. Returns its end. */
export function writeText(text: string, buffer: Buffer, start: number): number {
  const end = start + headerBytes + buffer.write(text, start + headerBytes, 'utf8');
  writeHeader(buffer, start, end, format.json);
  return end;
}

/** Writes a frame with several messages, given as comma-separated JSON. Returns its end. */
export function writeTexts(texts: string, buffer: Buffer, start: number): number {
  const end = start + headerBytes + 2 + buffer.write(texts, start + headerBytes + 1, 'utf8');
  writeHeader(buffer, start, end, format.list);
  buffer[start + headerBytes] = openBracket;
  buffer[end - 1] = closeBracket;
  return end;
}
const openBracket = 0x5b;
const closeBracket = 0x5d;
/** The size of a text frame without its text. */
export const textFrameBytes = headerBytes + 2;

function writeHeader(buffer: Buffer, start: number, end: number, written: number): void {
  buffer.writeUInt32LE(end - start - 4, start);
  buffer[start + 4] = written;
}

/**
 * Calls back with each message of a frame, given without its length. The buffer may be reused afterwards. Returns the number
 * of messages.
 */
export function decodeFrame(
  body: Buffer,
  start: number,
  end: number,
  serializer: Serializer | undefined,
  onMessage: (message: WireMessage) => void,
): number {
  if (body[start] === format.list) {
    const messages = decodeText(body, start, end);
    if (!messages.every(Array.isArray)) throw unreadable(new Error('it holds no messages'));
    for (const message of messages) onMessage(message as WireMessage);
    return messages.length;
  }
  const message =
    body[start] === format.json ? decodeText(body, start, end) : decodeValue(body.subarray(start, end), serializer);
  onMessage(message as WireMessage);
  return 1;
}

function decodeText(body: Buffer, start: number, end: number): unknown[] {
  try {
    const read: unknown = JSON.parse(body.toString('utf8', start + 1, end));
    if (!Array.isArray(read)) throw new Error('it holds no message');
    return read;
  } catch (error) {
    throw unreadable(error);
  }
}

function decodeValue(body: Buffer, serializer: Serializer | undefined): WireMessage {
  try {
    switch (body[0]) {
      case format.segments:
        return decodeSegments(body);
      case format.clone:
        return decodeBytes(body, readClone);
      case format.custom:
        if (!serializer) throw new Error('it was written by a serializer that this side does not have');
        // A copy, because a serializer may return views, and this buffer is reused. Not from the pool: they would show it.
        return decodeBytes(body, (bytes) => serializer.deserialize(copyOfBytes(bytes)));
      default:
        throw new Error(`format ${body[0]} is not known`);
    }
  } catch (error) {
    throw unreadable(error);
  }
}

/** Builds a frame: format, length of the tuple's JSON, the JSON, and the bytes of the value. */
function withBytes(written: number, message: WireMessage, at: number, bytes: Uint8Array): Buffer[] {
  const head = frameHead(written, JSON.stringify(replaced(message, at, null)));
  head.writeUInt32LE(head.length - 4 + bytes.length, 0);
  return [head, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)];
}

function decodeBytes(body: Buffer, read: (bytes: Buffer) => unknown): WireMessage {
  const length = body.readUInt32LE(1);
  const message = JSON.parse(body.toString('utf8', 5, 5 + length)) as unknown[];
  message[valueAt[message[0] as number] ?? message.length] = read(body.subarray(5 + length));
  return message as WireMessage;
}

function copyOfBytes(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** Builds a frame: as above, with kind, length and path of each segment in the JSON, followed by their contents. */
function withSegments(tuple: string, segments: readonly Segment[]): Buffer[] {
  const contents = segments.map(({ content }) => {
    if (typeof content !== 'string')
      return { kind: segmentKind.bytes, bytes: Buffer.from(content.buffer, content.byteOffset, content.byteLength) };
    const ascii = Buffer.byteLength(content) === content.length;
    return ascii
      ? { kind: segmentKind.ascii, bytes: Buffer.from(content, 'latin1') }
      : { kind: segmentKind.utf8, bytes: Buffer.from(content, 'utf8') };
  });
  const places = segments.map(({ path }, index) => [contents[index]?.kind, contents[index]?.bytes.length, path]);
  const head = frameHead(format.segments, `[${tuple},${JSON.stringify(places)}]`);
  const total = contents.reduce((sum, { bytes }) => sum + bytes.length, head.length - 4);
  head.writeUInt32LE(total, 0);
  return [head, ...contents.map(({ bytes }) => bytes)];
}

function decodeSegments(body: Buffer): WireMessage {
  const length = body.readUInt32LE(1);
  const [message, places] = JSON.parse(body.toString('utf8', 5, 5 + length)) as [
    unknown[],
    [number, number, (string | number)[]][],
  ];
  const at = valueAt[message[0] as number] ?? message.length;
  let offset = 5 + length;
  for (const [written, bytes, path] of places) {
    const end = offset + bytes;
    message[at] = putBack(message[at], path, readSegment(body, written, offset, end));
    offset = end;
  }
  if (offset !== body.length) throw new Error(`its segments have ${offset} bytes of ${body.length}`);
  return message as WireMessage;
}

function readSegment(body: Buffer, written: number, start: number, end: number): string | Uint8Array {
  if (written === segmentKind.ascii) return body.toString('latin1', start, end);
  if (written === segmentKind.utf8) return body.toString('utf8', start, end);
  // A copy, so that a small value does not keep a large frame in memory and has a buffer of its own.
  return new Uint8Array(body.subarray(start, end));
}

function replaced(message: WireMessage, at: number, value: unknown): unknown[] {
  const copy: unknown[] = [...message];
  copy[at] = value;
  return copy;
}

/** Builds header, text length and text. The caller writes the length of the frame. */
function frameHead(written: number, text: string): Buffer {
  const size = Buffer.byteLength(text);
  const buffer = Buffer.allocUnsafe(headerBytes + 4 + size);
  buffer[4] = written;
  buffer.writeUInt32LE(size, headerBytes);
  buffer.write(text, headerBytes + 4, 'utf8');
  return buffer;
}

/** Deserializes a clone, and keeps no reference to `bytes`. Buffers become Uint8Arrays, as with structured clone. */
export function readClone(bytes: Buffer): unknown {
  const reader = new (v8().DefaultDeserializer)(bytes) as v8Module.Deserializer & {
    _readHostObject(): unknown; // not in its type
  };
  const readHostObject = reader._readHostObject.bind(reader);
  reader._readHostObject = () => {
    const read = readHostObject() as ArrayBufferView; // of `bytes`, or of the pool when it is not aligned there
    const isOwn = read.byteLength === read.buffer.byteLength && !Buffer.isBuffer(read) && read.buffer !== bytes.buffer;
    return isOwn ? read : copyOfView(read);
  };
  reader.readHeader();
  return reader.readValue();
}

/** Loaded on demand: most workers do not need it, and it would slow down every start. */
function v8(): typeof v8Module {
  return process.getBuiltinModule('node:v8');
}

function unreadable(error: unknown): SerializationError {
  return new SerializationError(`A frame cannot be read: ${thrownMessage(error)}`, { cause: error });
}
