// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { noBytes, type ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type StringValue, type StringValueInit, readStringValue, writeStringValue } from './string-value.js';

/** Moves the message to the dead-letter queue. */
export interface DeadletterRequest {
  readonly locktoken: string;
  /** As in AbandonRequest. */
  readonly propertiesToModify: Uint8Array;
  readonly deadletterReason?: StringValue | undefined;
  readonly deadletterErrorDescription?: StringValue | undefined;
}

/** DeadletterRequest for writing. Omitted fields have their defaults. */
export interface DeadletterRequestInit {
  readonly locktoken?: string | null | undefined;
  readonly propertiesToModify?: Uint8Array | null | undefined;
  readonly deadletterReason?: StringValueInit | null | undefined;
  readonly deadletterErrorDescription?: StringValueInit | null | undefined;
}

/** Writes the fields of a DeadletterRequest. */
export function writeDeadletterRequest(writer: ProtoWriter, message: DeadletterRequestInit): void {
  if (message.locktoken) writer.string(10, message.locktoken);
  if (message.propertiesToModify?.length) writer.bytes(18, message.propertiesToModify);
  if (message.deadletterReason != null) {
    const start = writer.open(26, 99);
    writeStringValue(writer, message.deadletterReason);
    writer.close(start, 99);
  }
  if (message.deadletterErrorDescription != null) {
    const start = writer.open(34, 100);
    writeStringValue(writer, message.deadletterErrorDescription);
    writer.close(start, 100);
  }
}

const deadletterRequestFields: readonly number[] = [1, 2, 3, 4];

/** Reads a DeadletterRequest that ends at `end`. */
export function readDeadletterRequest(reader: ProtoReader, end: number): DeadletterRequest {
  let locktoken = '';
  let propertiesToModify: Uint8Array = noBytes;
  let deadletterReason: StringValue | undefined;
  let deadletterErrorDescription: StringValue | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        locktoken = reader.string(end);
        break;
      case 18:
        propertiesToModify = reader.bytes(end);
        break;
      case 26:
        deadletterReason = readStringValue(reader, reader.nested(end));
        break;
      case 34:
        deadletterErrorDescription = readStringValue(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, deadletterRequestFields);
    }
  }
  reader.leave(end);
  return {
    locktoken,
    propertiesToModify,
    deadletterReason,
    deadletterErrorDescription,
  };
}
