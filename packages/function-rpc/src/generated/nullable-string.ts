// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { entryFields } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** A string that may be null, which differs from an empty one. */
export interface NullableString {
  readonly value?: string | undefined;
}

/** NullableString for writing. Omitted fields have their defaults. */
export interface NullableStringInit {
  readonly value?: string | null | undefined;
}

/** Writes the fields of a NullableString. */
export function writeNullableString(writer: ProtoWriter, message: NullableStringInit): void {
  if (message.value != null) {
    writer.string(10, message.value);
  }
}

const nullableStringFields: readonly number[] = [1];

/** Reads a NullableString that ends at `end`. */
export function readNullableString(reader: ProtoReader, end: number): NullableString {
  let message: NullableString | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        message = { value: reader.string(end) };
        break;
      default:
        reader.skip(tag, end, nullableStringFields);
    }
  }
  reader.leave(end);
  return message ?? {};
}

/** Reads one entry of a map of NullableString into `into`. */
export function readNullableStringEntry(reader: ProtoReader, end: number, into: Record<string, NullableString>): void {
  let key = '';
  let value: NullableString | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    if (tag === 10) key = reader.string(end);
    else if (tag === 18) value = readNullableString(reader, reader.nested(end));
    else reader.skip(tag, end, entryFields);
  }
  reader.leave(end);
  into[key] = value ?? readNullableString(reader, reader.nothing());
}
