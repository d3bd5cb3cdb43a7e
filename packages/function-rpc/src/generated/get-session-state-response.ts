// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { noBytes, type ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

export interface GetSessionStateResponse {
  readonly sessionState: Uint8Array;
}

/** GetSessionStateResponse for writing. Omitted fields have their defaults. */
export interface GetSessionStateResponseInit {
  readonly sessionState?: Uint8Array | null | undefined;
}

/** Writes the fields of a GetSessionStateResponse. */
export function writeGetSessionStateResponse(writer: ProtoWriter, message: GetSessionStateResponseInit): void {
  if (message.sessionState?.length) writer.bytes(10, message.sessionState);
}

const getSessionStateResponseFields: readonly number[] = [1];

/** Reads a GetSessionStateResponse that ends at `end`. */
export function readGetSessionStateResponse(reader: ProtoReader, end: number): GetSessionStateResponse {
  let sessionState: Uint8Array = noBytes;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        sessionState = reader.bytes(end);
        break;
      default:
        reader.skip(tag, end, getSessionStateResponseFields);
    }
  }
  reader.leave(end);
  return {
    sessionState,
  };
}
