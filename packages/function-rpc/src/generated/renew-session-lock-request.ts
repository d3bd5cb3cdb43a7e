// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Extends the lock of the session. */
export interface RenewSessionLockRequest {
  readonly sessionId: string;
}

/** RenewSessionLockRequest for writing. Omitted fields have their defaults. */
export interface RenewSessionLockRequestInit {
  readonly sessionId?: string | null | undefined;
}

/** Writes the fields of a RenewSessionLockRequest. */
export function writeRenewSessionLockRequest(writer: ProtoWriter, message: RenewSessionLockRequestInit): void {
  if (message.sessionId) writer.string(10, message.sessionId);
}

const renewSessionLockRequestFields: readonly number[] = [1];

/** Reads a RenewSessionLockRequest that ends at `end`. */
export function readRenewSessionLockRequest(reader: ProtoReader, end: number): RenewSessionLockRequest {
  let sessionId = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        sessionId = reader.string(end);
        break;
      default:
        reader.skip(tag, end, renewSessionLockRequestFields);
    }
  }
  reader.leave(end);
  return {
    sessionId,
  };
}
