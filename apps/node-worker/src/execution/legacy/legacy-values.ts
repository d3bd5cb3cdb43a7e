import { toHandlerValue, type TypedData } from '@drover/function-rpc';

/** What a v3 function sees of an input. Collections of text stay text, as they always have here. */
export function toLegacyValue(data: TypedData | undefined): unknown {
  if (data?.json !== undefined) return parsed(data.json);
  if (data?.collectionString) return [...data.collectionString.string];
  if (data?.collectionSint64) return data.collectionSint64.sint64.map(withoutBigInt);
  return withoutBigInt(toHandlerValue(data));
}

/** JSON that is none comes as text: v3 never threw for it. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
}

/** Numbers that are too large for a number came as text. */
function withoutBigInt(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/** Trigger metadata with names in camel case, all the way down. */
export function bindingDataOf(metadata: Readonly<Record<string, TypedData>>): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(metadata)) data[camelCase(name)] = camelCaseKeys(toLegacyValue(value));
  return data;
}

/** The same object with keys in camel case; arrays and what is not plain stay as they are. */
export function camelCaseKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camelCase(key), camelCaseKeys(inner)]));
}

function camelCase(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}
