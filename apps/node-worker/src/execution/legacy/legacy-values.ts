import { toHandlerValue, type TypedData } from '@drover/function-rpc';

/** Converts an input for a v3 function. Texts in collections are not parsed, as in the official worker. */
export function toLegacyValue(data: TypedData | undefined): unknown {
  if (data?.json !== undefined) return parsed(data.json);
  if (data?.collectionString) return [...data.collectionString.string];
  if (data?.collectionSint64) return data.collectionSint64.sint64.map(withoutBigInt);
  return withoutBigInt(toHandlerValue(data));
}

/** Returns malformed JSON as text: v3 does not throw for it. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
}

/** Returns integers above 2^53 as text. */
function withoutBigInt(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/** Converts trigger metadata; names are in camel case at every level. */
export function bindingDataOf(metadata: Readonly<Record<string, TypedData>>): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(metadata)) data[camelCase(name)] = camelCaseKeys(toLegacyValue(value));
  return data;
}

/** Returns the object with keys in camel case. Arrays and buffers are not changed. */
export function camelCaseKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camelCase(key), camelCaseKeys(inner)]));
}

function camelCase(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}
