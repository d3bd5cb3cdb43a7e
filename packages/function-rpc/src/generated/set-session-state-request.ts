// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { noBytes, type ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Replaces the state of a session; no bytes remove it. */
export interface SetSessionStateRequest {
  readonly sessionId: string;
  readonly sessionState: Uint8Array;
}

/** SetSessionStateRequest for writing. Omitted fields have their defaults. */
export interface SetSessionStateRequestInit {
  readonly sessionId?: string | null | undefined;
  readonly sessionState?: Uint8Array | null | undefined;
}

/** Writes the fields of a SetSessionStateRequest. */
export function writeSetSessionStateRequest(writer: ProtoWriter, message: SetSessionStateRequestInit): void {
  if (message.sessionId) writer.string(10, message.sessionId);
  if (message.sessionState?.length) writer.bytes(18, message.sessionState);
}

const setSessionStateRequestFields: readonly number[] = [1, 2];

/** Reads a SetSessionStateRequest that ends at `end`. */
export function readSetSessionStateRequest(reader: ProtoReader, end: number): SetSessionStateRequest {
  let sessionId = '';
  let sessionState: Uint8Array = noBytes;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        sessionId = reader.string(end);
        break;
      case 18:
        sessionState = reader.bytes(end);
        break;
      default:
        reader.skip(tag, end, setSessionStateRequestFields);
    }
  }
  reader.leave(end);
  return {
    sessionId,
    sessionState,
  };
}
