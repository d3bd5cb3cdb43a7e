import type { TypedData, TypedDataInit } from '../generated/typed-data.js';
import { parseJsonIfPossible, stringifyJson } from './json.js';

/**
 * Converts a value for a handler of the v4 model for Node.js: text that is JSON is parsed, bytes become a Buffer, null becomes
 * undefined. Throws a SyntaxError for malformed JSON. Returns an HTTP request unchanged: the model builds its own object.
 */
export function toHandlerValue(data: TypedData | null | undefined): unknown {
  if (data == null) return undefined;
  if (data.string !== undefined) return parseJsonIfPossible(data.string);
  if (data.json !== undefined) return JSON.parse(data.json) as unknown;
  if (data.bytes !== undefined) return toBuffer(data.bytes);
  if (data.stream !== undefined) return toBuffer(data.stream);
  return (
    data.http ??
    data.int ??
    data.double ??
    data.collectionBytes?.bytes.map(toBuffer) ??
    data.collectionString?.string.map(parseJsonIfPossible) ??
    data.collectionDouble?.double ??
    data.collectionSint64?.sint64 ??
    data.modelBindingData ??
    data.collectionModelBindingData?.modelBindingData
  );
}

/** Converts a result or output of a handler for the host. Returns undefined when there is nothing to send. */
export function fromHandlerValue(value: unknown): TypedDataInit | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'string') return { string: value };
  if (typeof value === 'number') return Number.isSafeInteger(value) ? { int: value } : { double: value };
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value ? { int: value } : { json: String(value) };
  if (ArrayBuffer.isView(value)) return { bytes: new Uint8Array(value.buffer, value.byteOffset, value.byteLength) };
  if (value instanceof ArrayBuffer) return { bytes: new Uint8Array(value) };
  return { json: stringifyJson(value) };
}

/** Copies, because a handler may modify and keep its input. */
function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes);
}
