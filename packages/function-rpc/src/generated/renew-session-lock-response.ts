// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type Timestamp, type TimestampInit, readTimestamp, writeTimestamp } from './timestamp.js';

export interface RenewSessionLockResponse {
  readonly lockedUntil?: Timestamp | undefined;
}

/** RenewSessionLockResponse for writing. Omitted fields have their defaults. */
export interface RenewSessionLockResponseInit {
  readonly lockedUntil?: TimestampInit | null | undefined;
}

/** Writes the fields of a RenewSessionLockResponse. */
export function writeRenewSessionLockResponse(writer: ProtoWriter, message: RenewSessionLockResponseInit): void {
  if (message.lockedUntil != null) {
    const start = writer.open(10, 101);
    writeTimestamp(writer, message.lockedUntil);
    writer.close(start, 101);
  }
}

const renewSessionLockResponseFields: readonly number[] = [1];

/** Reads a RenewSessionLockResponse that ends at `end`. */
export function readRenewSessionLockResponse(reader: ProtoReader, end: number): RenewSessionLockResponse {
  let lockedUntil: Timestamp | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        lockedUntil = readTimestamp(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, renewSessionLockResponseFields);
    }
  }
  reader.leave(end);
  return {
    lockedUntil,
  };
}
