// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { noBytes, type ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Returns the message to its queue. */
export interface AbandonRequest {
  readonly locktoken: string;
  /** A map in AMQP encoding. (The first version of the service had a map of typed values under this number.) */
  readonly propertiesToModify: Uint8Array;
}

/** AbandonRequest for writing. Omitted fields have their defaults. */
export interface AbandonRequestInit {
  readonly locktoken?: string | null | undefined;
  readonly propertiesToModify?: Uint8Array | null | undefined;
}

/** Writes the fields of an AbandonRequest. */
export function writeAbandonRequest(writer: ProtoWriter, message: AbandonRequestInit): void {
  if (message.locktoken) writer.string(10, message.locktoken);
  if (message.propertiesToModify?.length) writer.bytes(18, message.propertiesToModify);
}

const abandonRequestFields: readonly number[] = [1, 2];

/** Reads an AbandonRequest that ends at `end`. */
export function readAbandonRequest(reader: ProtoReader, end: number): AbandonRequest {
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
        reader.skip(tag, end, abandonRequestFields);
    }
  }
  reader.leave(end);
  return {
    locktoken,
    propertiesToModify,
  };
}
