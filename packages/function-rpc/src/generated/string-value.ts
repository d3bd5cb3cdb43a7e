// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** A string that may be absent. */
export interface StringValue {
  readonly value: string;
}

/** StringValue for writing. Omitted fields have their defaults. */
export interface StringValueInit {
  readonly value?: string | null | undefined;
}

/** Writes the fields of a StringValue. */
export function writeStringValue(writer: ProtoWriter, message: StringValueInit): void {
  if (message.value) writer.string(10, message.value);
}

const stringValueFields: readonly number[] = [1];

/** Reads a StringValue that ends at `end`. */
export function readStringValue(reader: ProtoReader, end: number): StringValue {
  let value = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        value = reader.string(end);
        break;
      default:
        reader.skip(tag, end, stringValueFields);
    }
  }
  reader.leave(end);
  return {
    value,
  };
}
