const plain = /^[\w.:/+ -]*$/;

/** A JSON string; names and ids, which need no escapes, come out of it without the serialiser. */
export function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

/**
 * Text for a column. PostgreSQL has no place for NUL, and UTF-8 none for half a surrogate pair: both become escapes, and
 * so does the backslash, so that no two texts look alike.
 */
export function toColumn(text: string): string {
  return plain.test(text) ? text : JSON.stringify(text).slice(1, -1);
}

export function fromColumn(column: string): string {
  return plain.test(column) ? column : (JSON.parse(`"${column}"`) as string); // `toColumn` wrote it
}
