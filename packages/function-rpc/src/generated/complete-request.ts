// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Completes the message. */
export interface CompleteRequest {
  readonly locktoken: string;
}

/** CompleteRequest for writing. Omitted fields have their defaults. */
export interface CompleteRequestInit {
  readonly locktoken?: string | null | undefined;
}

/** Writes the fields of a CompleteRequest. */
export function writeCompleteRequest(writer: ProtoWriter, message: CompleteRequestInit): void {
  if (message.locktoken) writer.string(10, message.locktoken);
}

const completeRequestFields: readonly number[] = [1];

/** Reads a CompleteRequest that ends at `end`. */
export function readCompleteRequest(reader: ProtoReader, end: number): CompleteRequest {
  let locktoken = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        locktoken = reader.string(end);
        break;
      default:
        reader.skip(tag, end, completeRequestFields);
    }
  }
  reader.leave(end);
  return {
    locktoken,
  };
}
