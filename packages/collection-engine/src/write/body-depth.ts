const quote = 0x22;
const backslash = 0x5c;
const openers = new Set([0x5b, 0x7b]); // [ {
const closers = new Set([0x5d, 0x7d]);

/**
 * Returns whether a JSON text has more than `levels` arrays and objects within each other. It reads bytes and stops at the first such
 * place: neither Node nor PostgreSQL has to survive the document.
 */
export function isDeeperThan(levels: number, json: Uint8Array): boolean {
  if (json.length <= levels) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === quote) at = endOfText(json, at);
    else if (openers.has(byte) && (depth += 1) > levels) return true;
    else if (closers.has(byte)) depth -= 1;
  }
  return false;
}

/** Returns the index of the quote that ends the text that begins at `start`. */
function endOfText(json: Uint8Array, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    if (json[at] === backslash) at += 1;
    else if (json[at] === quote) return at;
  }
  return json.length;
}
