// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** A number that may be null. */
export interface NullableDouble {
  readonly value?: number | undefined;
}

/** NullableDouble for writing. Omitted fields have their defaults. */
export interface NullableDoubleInit {
  readonly value?: number | null | undefined;
}

/** Writes the fields of a NullableDouble. */
export function writeNullableDouble(writer: ProtoWriter, message: NullableDoubleInit): void {
  if (message.value != null) {
    writer.double(9, message.value);
  }
}

const nullableDoubleFields: readonly number[] = [1];

/** Reads a NullableDouble that ends at `end`. */
export function readNullableDouble(reader: ProtoReader, end: number): NullableDouble {
  let message: NullableDouble | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 9:
        message = { value: reader.double() };
        break;
      default:
        reader.skip(tag, end, nullableDoubleFields);
    }
  }
  reader.leave(end);
  return message ?? {};
}
