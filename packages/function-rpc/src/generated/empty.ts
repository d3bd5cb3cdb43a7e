// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { Reader } from '../codec/reader.js';
import type { Writer } from '../codec/writer.js';

/** An answer that says no more than that it came. */
export type Empty = Readonly<Record<never, never>>;

/** Writes as an Empty: what is left out has its default. */
export type EmptyInit = Readonly<Record<never, never>>;

/** Writes the fields of an Empty. */
export function writeEmpty(_writer: Writer, _message: EmptyInit): void {
  // it has none
}

const emptyFields: readonly number[] = [];

/** Reads an Empty that ends at `end`. */
export function readEmpty(reader: Reader, end: number): Empty {
  while (reader.position < end) {
    const tag = reader.tag();
    reader.skip(tag, end, emptyFields);
  }
  reader.leave(end);
  return {};
}
