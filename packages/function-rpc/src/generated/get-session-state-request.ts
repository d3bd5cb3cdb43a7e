// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Reads the state of a session whose lock this host holds. */
export interface GetSessionStateRequest {
  readonly sessionId: string;
}

/** GetSessionStateRequest for writing. Omitted fields have their defaults. */
export interface GetSessionStateRequestInit {
  readonly sessionId?: string | null | undefined;
}

/** Writes the fields of a GetSessionStateRequest. */
export function writeGetSessionStateRequest(writer: ProtoWriter, message: GetSessionStateRequestInit): void {
  if (message.sessionId) writer.string(10, message.sessionId);
}

const getSessionStateRequestFields: readonly number[] = [1];

/** Reads a GetSessionStateRequest that ends at `end`. */
export function readGetSessionStateRequest(reader: ProtoReader, end: number): GetSessionStateRequest {
  let sessionId = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        sessionId = reader.string(end);
        break;
      default:
        reader.skip(tag, end, getSessionStateRequestFields);
    }
  }
  reader.leave(end);
  return {
    sessionId,
  };
}
