export const tab = 0x09;
export const lineFeed = 0x0a;
export const carriageReturn = 0x0d;
export const space = 0x20;
export const colon = 0x3a;
export const semicolon = 0x3b;
const zero = 0x30;

const tokens = new Uint8Array(256);
for (const character of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  tokens[character.charCodeAt(0)] = 1;

const texts = new Uint8Array(256).fill(1, space).fill(0, 0x7f, 0x80);
texts[tab] = 1;

/** Returns whether a character is allowed in a header name. */
export function isToken(code: number): boolean {
  return tokens[code] === 1;
}

/** Returns whether a character is allowed in a header value: everything but control characters. */
export function isText(code: number): boolean {
  return texts[code] === 1;
}

/** Returns the value of a digit, or -1. */
export function digitOf(code: number): number {
  return code >= zero && code <= zero + 9 ? code - zero : -1;
}

/** Returns the value of a digit, or -1. */
export function hexDigitOf(code: number): number {
  if (code >= zero && code <= zero + 9) return code - zero;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
