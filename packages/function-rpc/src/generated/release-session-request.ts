// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Releases the session, so that any receiver can take it. */
export interface ReleaseSessionRequest {
  readonly sessionId: string;
}

/** ReleaseSessionRequest for writing. Omitted fields have their defaults. */
export interface ReleaseSessionRequestInit {
  readonly sessionId?: string | null | undefined;
}

/** Writes the fields of a ReleaseSessionRequest. */
export function writeReleaseSessionRequest(writer: ProtoWriter, message: ReleaseSessionRequestInit): void {
  if (message.sessionId) writer.string(10, message.sessionId);
}

const releaseSessionRequestFields: readonly number[] = [1];

/** Reads a ReleaseSessionRequest that ends at `end`. */
export function readReleaseSessionRequest(reader: ProtoReader, end: number): ReleaseSessionRequest {
  let sessionId = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        sessionId = reader.string(end);
        break;
      default:
        reader.skip(tag, end, releaseSessionRequestFields);
    }
  }
  reader.leave(end);
  return {
    sessionId,
  };
}
