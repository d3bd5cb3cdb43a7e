// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** A response without content. */
export type Empty = Readonly<Record<never, never>>;

/** Empty for writing. Omitted fields have their defaults. */
export type EmptyInit = Readonly<Record<never, never>>;

/** Writes the fields of an Empty. */
export function writeEmpty(_writer: ProtoWriter, _message: EmptyInit): void {
  // no fields
}

const emptyFields: readonly number[] = [];

/** Reads an Empty that ends at `end`. */
export function readEmpty(reader: ProtoReader, end: number): Empty {
  while (reader.position < end) {
    const tag = reader.tag();
    reader.skip(tag, end, emptyFields);
  }
  reader.leave(end);
  return {};
}
