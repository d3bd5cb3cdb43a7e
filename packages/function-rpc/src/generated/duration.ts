// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** A span of time; `nanos` has the sign of `seconds`. */
export interface Duration {
  readonly seconds: number | bigint;
  readonly nanos: number;
}

/** Duration for writing. Omitted fields have their defaults. */
export interface DurationInit {
  readonly seconds?: number | bigint | null | undefined;
  readonly nanos?: number | null | undefined;
}

/** Writes the fields of a Duration. */
export function writeDuration(writer: ProtoWriter, message: DurationInit): void {
  if (message.seconds) writer.int64(8, message.seconds);
  if (message.nanos) writer.int32(16, message.nanos);
}

const durationFields: readonly number[] = [1, 2];

/** Reads a Duration that ends at `end`. */
export function readDuration(reader: ProtoReader, end: number): Duration {
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
        reader.skip(tag, end, durationFields);
    }
  }
  reader.leave(end);
  return {
    seconds,
    nanos,
  };
}
