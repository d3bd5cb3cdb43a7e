/** Begins the text that stands for a number. No text of a client has the character NUL: PostgreSQL cannot store it. */
const mark = '\0';
const mayHaveLong = /[0-9][0-9.]{15}/;
const textsAndLongNumbers = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.]{15,}(?:[eE][+-]?[0-9]+)?/g;
const markedNumbers = /"\\u0000([-+.0-9eE]+)"/g;

/**
 * Parses JSON that PostgreSQL made, and keeps numbers of more than 15 digits as marked texts: a double would change their last digits.
 * Values are written with `exactJson` and `exactText` again.
 */
export function parseExactly(json: string): unknown {
  if (!mayHaveLong.test(json)) return JSON.parse(json);
  return JSON.parse(
    json.replaceAll(textsAndLongNumbers, (token) => (token.startsWith('"') ? token : `"\\u0000${token}"`)),
  );
}

/** Returns the JSON of a value of `parseExactly`, with all digits. */
export const exactJson = (value: unknown): string => JSON.stringify(value).replaceAll(markedNumbers, '$1');

/** Returns a text of `parseExactly`, or the digits of the number that it stands for. */
export const exactText = (text: string): string => (text.startsWith(mark) ? text.slice(1) : text);
