import type { TypedDataInit } from '../generated/typed-data.js';
import { capability, hasCapability, type Capabilities } from './capabilities.js';
import { stringifyJson } from './json.js';

/**
 * Converts a value for a worker: text, bytes and fractions as themselves, lists of them as collections if the worker accepts
 * those, null as an empty value, everything else as JSON. Whole numbers are JSON too, because official JavaScript workers
 * decode `int` as an object of two halves.
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

/** Returns a collection if all entries are of one kind that has a collection type. */
function toCollection(values: readonly unknown[], capabilities: Capabilities): TypedDataInit | undefined {
  if (values.length === 0) return undefined;
  if (values.every((value) => typeof value === 'string')) {
    // Workers without the capability may drop empty entries, which would shift all that follow.
    const isSafe = !values.includes('') || hasCapability(capabilities, capability.includeEmptyEntriesInMessagePayload);
    return isSafe ? { collectionString: { string: values } } : undefined;
  }
  if (values.every((value) => value instanceof Uint8Array)) return { collectionBytes: { bytes: values } };
  if (values.every((value) => typeof value === 'number') && !values.every(Number.isInteger)) {
    return { collectionDouble: { double: values } };
  }
  return undefined;
}
