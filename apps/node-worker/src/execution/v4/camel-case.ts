/** Changes the first letter to lower case. */
export function camelCaseKey(key: string): string {
  return key.charAt(0).toLowerCase() + key.slice(1);
}

/** Applies `camelCaseKey` to all keys at every level. */
export function camelCaseValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(camelCaseValue);
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) result[camelCaseKey(key)] = camelCaseValue(inner);
  return result;
}
