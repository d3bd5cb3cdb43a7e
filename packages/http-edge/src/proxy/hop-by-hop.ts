import { connectionHeaders, namedByConnection } from '@drover/contracts';

/**
 * Whether a header, by the name as it was written, ends at a proxy: it is about the connection, or an expectation, which
 * the server that received it has answered. Remembered by spelling, which takes a tenth of the time of lower-casing each.
 */
export function isHopByHop(written: string): boolean {
  const known = knownNames.get(written);
  if (known !== undefined) return known;
  const lower = written.toLowerCase();
  const ends = connectionHeaders.has(lower) || lower === 'expect';
  // Bounded: a client could invent names.
  if (knownNames.size < maxKnownNames) knownNames.set(written, ends);
  return ends;
}

const knownNames = new Map<string, boolean>();
const maxKnownNames = 512;

/** Further headers that end at a proxy because a `connection` header names them, in lower case; undefined if there are none. */
export function namedByConnectionHeader(rawHeaders: readonly string[]): ReadonlySet<string> | undefined {
  let named: Set<string> | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    const value = rawHeaders[index + 1] ?? '';
    if (value === 'keep-alive' || value === 'close') continue;
    for (const one of namedByConnection(value)) (named ??= new Set()).add(one);
  }
  return named;
}

const token = /^[\w!#$%&'*+.^`|~-]+$/;
const forwardable = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Returns one header with its line end, for values that did not come from a parsed message. Throws TypeError if they would break out of the line. */
export function forwardedLine(name: string, value: string): string {
  if (!token.test(name) || !forwardable.test(value))
    throw new TypeError(
      `The header ${JSON.stringify(name.slice(0, 100))} has characters that are not allowed in a header.`,
    );
  return `${name}: ${value}\r\n`;
}

/** Returns the headers that a proxy passes on, names and values in turn, spelled and ordered as they were. */
export function endToEndHeaders(rawHeaders: readonly string[]): string[] {
  const named = namedByConnectionHeader(rawHeaders);
  const kept: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (isHopByHop(name) || named?.has(name.toLowerCase())) continue;
    kept.push(name, rawHeaders[index + 1] ?? '');
  }
  return kept;
}
