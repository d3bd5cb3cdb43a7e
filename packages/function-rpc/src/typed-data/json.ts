import { ProtocolError } from '../codec/protocol-error.js';

/** The JSON text of a value. What has none (a function, a symbol) is null. */
export function stringifyJson(value: unknown): string {
  try {
    const text = JSON.stringify(value) as string | undefined; // its declaration leaves out undefined
    return text ?? 'null';
  } catch (error) {
    throw new ProtocolError('a value cannot be written as JSON: it contains itself, or a bigint', error);
  }
}

/** The value of a JSON text. */
export function parseJson(text: string): unknown {
  return JSON.parse(text) as unknown;
}

/** The value of a text that may be JSON; otherwise the text itself. */
export function parseJsonIfPossible(text: string): unknown {
  if (!mayBeJson.test(text)) return text;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** What every JSON text begins with: to throw and catch takes a hundred times longer than to look. */
const mayBeJson = /^[ \t\n\r]*["[{\-0-9tfn]/;
