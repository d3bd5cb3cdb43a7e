// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Extends the lock of the message. */
export interface RenewMessageLockRequest {
  readonly locktoken: string;
}

/** RenewMessageLockRequest for writing. Omitted fields have their defaults. */
export interface RenewMessageLockRequestInit {
  readonly locktoken?: string | null | undefined;
}

/** Writes the fields of a RenewMessageLockRequest. */
export function writeRenewMessageLockRequest(writer: ProtoWriter, message: RenewMessageLockRequestInit): void {
  if (message.locktoken) writer.string(10, message.locktoken);
}

const renewMessageLockRequestFields: readonly number[] = [1];

/** Reads a RenewMessageLockRequest that ends at `end`. */
export function readRenewMessageLockRequest(reader: ProtoReader, end: number): RenewMessageLockRequest {
  let locktoken = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        locktoken = reader.string(end);
        break;
      default:
        reader.skip(tag, end, renewMessageLockRequestFields);
    }
  }
  reader.leave(end);
  return {
    locktoken,
  };
}
