/** The positions of an object's members in its text. */
export interface JsonSpans {
  /** By key: from the first character of the value to the one after its last. */
  readonly values: ReadonlyMap<string, readonly [start: number, end: number]>;
  /** The greatest nesting depth of objects and arrays. */
  readonly depth: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;

/**
 * Finds the values of an object in its text, so that they can be passed on as they were written. `json` must be the text of a
 * valid object: it is scanned, not checked. The last of several equal keys wins, as in `JSON.parse`.
 */
export function findSpans(json: string): JsonSpans {
  const values = new Map<string, readonly [number, number]>();
  let deepest = 0;
  let depth = 0;
  let key: string | undefined;
  let start = -1;
  for (let at = 0; at < json.length; at += 1) {
    switch (json.charCodeAt(at)) {
      case quote: {
        const end = endOfString(json, at);
        if (depth === 1 && key === undefined) key = toKey(json, at, end);
        at = end;
        break;
      }
      case colon:
        if (depth === 1 && start < 0) start = at + 1;
        break;
      case comma:
        if (depth !== 1 || key === undefined) break;
        values.set(key, trimmed(json, start, at));
        key = undefined;
        start = -1;
        break;
      case 0x7b: // {
      case 0x5b: // [
        depth += 1;
        if (depth > deepest) deepest = depth;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1;
        if (depth === 0 && key !== undefined) values.set(key, trimmed(json, start, at));
        break;
    }
  }
  return { values, depth: deepest };
}

/** Unescapes a key. */
function toKey(json: string, from: number, to: number): string {
  const written = json.slice(from + 1, to);
  return written.includes('\\') ? (JSON.parse(json.slice(from, to + 1)) as string) : written; // it stands between quotes
}

/** Returns the index of the closing quote of the string that opens at `from`. */
function endOfString(json: string, from: number): number {
  let at = json.indexOf('"', from + 1);
  while (at > 0 && isEscaped(json, at)) at = json.indexOf('"', at + 1);
  return at;
}

function isEscaped(json: string, at: number): boolean {
  let backslashes = 0;
  while (json.charCodeAt(at - 1 - backslashes) === backslash) backslashes += 1;
  return backslashes % 2 === 1;
}

function trimmed(json: string, start: number, end: number): readonly [number, number] {
  let from = start;
  let to = end;
  while (isBlank(json.charCodeAt(from))) from += 1;
  while (isBlank(json.charCodeAt(to - 1))) to -= 1;
  return [from, to];
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
