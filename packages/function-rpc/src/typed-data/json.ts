import { ProtocolError } from '../codec/protocol-error.js';

/** Returns the JSON text of a value; `null` for functions and symbols. Throws a ProtocolError for cycles and bigints. */
export function stringifyJson(value: unknown): string {
  try {
    const text = JSON.stringify(value) as string | undefined; // its declaration leaves out undefined
    return text ?? 'null';
  } catch (error) {
    throw new ProtocolError('a value cannot be written as JSON: it contains itself, or a bigint', error);
  }
}

/** Parses a text if it is JSON, otherwise returns the text. */
export function parseJsonIfPossible(text: string): unknown {
  if (!mayBeJson.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The first characters of JSON texts. The test is a hundred times faster than throwing and catching. */
const mayBeJson = /^[ \t\n\r]*["[{\-0-9tfn]/;
