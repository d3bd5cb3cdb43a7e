const plain = /^[\w.:/+ -]*$/;

/** Returns the JSON string of a text. Names and ids need no escapes and skip the serializer. */
export function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

/**
 * Encodes a text for a column. PostgreSQL cannot store NUL, and UTF-8 cannot encode half a surrogate pair: both become escapes, and so
 * does the backslash, so that different texts stay different.
 */
export function toColumn(text: string): string {
  return plain.test(text) ? text : JSON.stringify(text).slice(1, -1);
}

export function fromColumn(column: string): string {
  return plain.test(column) ? column : (JSON.parse(`"${column}"`) as string); // written by `toColumn`
}
