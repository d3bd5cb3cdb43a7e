// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** A point in time, counted from 1970 in UTC. */
export interface Timestamp {
  readonly seconds: number | bigint;
  readonly nanos: number;
}

/** Timestamp for writing. Omitted fields have their defaults. */
export interface TimestampInit {
  readonly seconds?: number | bigint | null | undefined;
  readonly nanos?: number | null | undefined;
}

/** Writes the fields of a Timestamp. */
export function writeTimestamp(writer: ProtoWriter, message: TimestampInit): void {
  if (message.seconds) writer.int64(8, message.seconds);
  if (message.nanos) writer.int32(16, message.nanos);
}

const timestampFields: readonly number[] = [1, 2];

/** Reads a Timestamp that ends at `end`. */
export function readTimestamp(reader: ProtoReader, end: number): Timestamp {
  let seconds: number | bigint = 0;
  let nanos = 0;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 8:
        seconds = reader.int64();
        break;
      case 16:
        nanos = reader.int32();
        break;
      default:
        reader.skip(tag, end, timestampFields);
    }
  }
  reader.leave(end);
  return {
    seconds,
    nanos,
  };
}
