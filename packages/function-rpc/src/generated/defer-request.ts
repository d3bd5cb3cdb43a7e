// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { noBytes, type ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Defers the message: it is delivered only to a receiver that asks for its sequence number. */
export interface DeferRequest {
  readonly locktoken: string;
  /** As in AbandonRequest. */
  readonly propertiesToModify: Uint8Array;
}

/** DeferRequest for writing. Omitted fields have their defaults. */
export interface DeferRequestInit {
  readonly locktoken?: string | null | undefined;
  readonly propertiesToModify?: Uint8Array | null | undefined;
}

/** Writes the fields of a DeferRequest. */
export function writeDeferRequest(writer: ProtoWriter, message: DeferRequestInit): void {
  if (message.locktoken) writer.string(10, message.locktoken);
  if (message.propertiesToModify?.length) writer.bytes(18, message.propertiesToModify);
}

const deferRequestFields: readonly number[] = [1, 2];

/** Reads a DeferRequest that ends at `end`. */
export function readDeferRequest(reader: ProtoReader, end: number): DeferRequest {
  let locktoken = '';
  let propertiesToModify: Uint8Array = noBytes;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        locktoken = reader.string(end);
        break;
      case 18:
        propertiesToModify = reader.bytes(end);
        break;
      default:
        reader.skip(tag, end, deferRequestFields);
    }
  }
  reader.leave(end);
  return {
    locktoken,
    propertiesToModify,
  };
}
