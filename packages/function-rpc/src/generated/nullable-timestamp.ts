// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type Timestamp, type TimestampInit, readTimestamp, writeTimestamp } from './timestamp.js';

/** A point in time that may be null. */
export interface NullableTimestamp {
  readonly value?: Timestamp | undefined;
}

/** NullableTimestamp for writing. Omitted fields have their defaults. */
export interface NullableTimestampInit {
  readonly value?: TimestampInit | null | undefined;
}

/** Writes the fields of a NullableTimestamp. */
export function writeNullableTimestamp(writer: ProtoWriter, message: NullableTimestampInit): void {
  if (message.value != null) {
    const start = writer.open(10, 98);
    writeTimestamp(writer, message.value);
    writer.close(start, 98);
  }
}

const nullableTimestampFields: readonly number[] = [1];

/** Reads a NullableTimestamp that ends at `end`. */
export function readNullableTimestamp(reader: ProtoReader, end: number): NullableTimestamp {
  let message: NullableTimestamp | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        message = { value: readTimestamp(reader, reader.nested(end)) };
        break;
      default:
        reader.skip(tag, end, nullableTimestampFields);
    }
  }
  reader.leave(end);
  return message ?? {};
}
