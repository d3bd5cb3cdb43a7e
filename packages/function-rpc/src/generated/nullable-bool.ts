// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** A boolean that may be null. */
export interface NullableBool {
  readonly value?: boolean | undefined;
}

/** NullableBool for writing. Omitted fields have their defaults. */
export interface NullableBoolInit {
  readonly value?: boolean | null | undefined;
}

/** Writes the fields of a NullableBool. */
export function writeNullableBool(writer: ProtoWriter, message: NullableBoolInit): void {
  if (message.value != null) {
    writer.bool(8, message.value);
  }
}

const nullableBoolFields: readonly number[] = [1];

/** Reads a NullableBool that ends at `end`. */
export function readNullableBool(reader: ProtoReader, end: number): NullableBool {
  let message: NullableBool | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 8:
        message = { value: reader.bool() };
        break;
      default:
        reader.skip(tag, end, nullableBoolFields);
    }
  }
  reader.leave(end);
  return message ?? {};
}
