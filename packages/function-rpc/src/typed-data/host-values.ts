import { ProtocolError } from '../codec/protocol-error.js';
import type { TypedData, TypedDataInit } from '../generated/typed-data.js';
import { capability, hasCapability, type Capabilities } from './capabilities.js';
import { parseJson, stringifyJson } from './json.js';

/**
 * How a host says a value to a worker: text, bytes and fractions as themselves, lists of them as collections if the worker
 * takes those, null as nothing, and everything else as JSON. Whole numbers are JSON too, since a worker in JavaScript gets
 * an `int` as an object of two halves.
 */
export function toTypedData(value: unknown, capabilities: Capabilities = {}): TypedDataInit {
  if (value === null || value === undefined) return {};
  if (typeof value === 'string') return { string: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { json: String(value) } : { double: value };
  if (typeof value === 'bigint') return { json: String(value) };
  if (value instanceof Uint8Array) return { bytes: value };
  if (Array.isArray(value) && hasCapability(capabilities, capability.typedDataCollection)) {
    return toCollection(value, capabilities) ?? { json: stringifyJson(value) };
  }
  return { json: stringifyJson(value) };
}

/** A collection, if all entries are of one kind that has one. */
function toCollection(values: readonly unknown[], capabilities: Capabilities): TypedDataInit | undefined {
  if (values.length === 0) return undefined;
  if (values.every((value) => typeof value === 'string')) {
    // Workers without the capability may drop empty entries, and with them the order of all that follow.
    const isSafe = !values.includes('') || hasCapability(capabilities, capability.includeEmptyEntriesInMessagePayload);
    return isSafe ? { collectionString: { string: values } } : undefined;
  }
  if (values.every((value) => value instanceof Uint8Array)) return { collectionBytes: { bytes: values } };
  if (values.every((value) => typeof value === 'number') && !values.every(Number.isInteger)) {
    return { collectionDouble: { double: values } };
  }
  return undefined;
}

/**
 * The value that a worker returned or set as an output. JSON is parsed, text is not; an HTTP response comes as it is. Throws
 * a ProtocolError for JSON that is none.
 */
export function fromTypedData(data: TypedData | null | undefined): unknown {
  if (data == null) return undefined;
  if (data.string !== undefined) return data.string;
  if (data.json !== undefined) return parseOutput(data.json);
  return (
    data.bytes ??
    data.int ??
    data.double ??
    data.http ??
    data.stream ??
    data.collectionString?.string ??
    data.collectionBytes?.bytes ??
    data.collectionDouble?.double ??
    data.collectionSint64?.sint64 ??
    data.modelBindingData ??
    data.collectionModelBindingData?.modelBindingData
  );
}

function parseOutput(json: string): unknown {
  try {
    return parseJson(json);
  } catch (error) {
    throw new ProtocolError('the worker sent JSON that cannot be parsed', error);
  }
}
