// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type Duration, type DurationInit, readDuration, writeDuration } from './duration.js';

/** Host to worker, for workers that announce support for it: cancels an invocation. */
export interface InvocationCancel {
  readonly gracePeriod?: Duration | undefined;
  readonly invocationId: string;
}

/** InvocationCancel for writing. Omitted fields have their defaults. */
export interface InvocationCancelInit {
  readonly gracePeriod?: DurationInit | null | undefined;
  readonly invocationId?: string | null | undefined;
}

/** Writes the fields of an InvocationCancel. */
export function writeInvocationCancel(writer: ProtoWriter, message: InvocationCancelInit): void {
  if (message.gracePeriod != null) {
    const start = writer.open(10, 55);
    writeDuration(writer, message.gracePeriod);
    writer.close(start, 55);
  }
  if (message.invocationId) writer.string(18, message.invocationId);
}

const invocationCancelFields: readonly number[] = [1, 2];

/** Reads an InvocationCancel that ends at `end`. */
export function readInvocationCancel(reader: ProtoReader, end: number): InvocationCancel {
  let gracePeriod: Duration | undefined;
  let invocationId = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        gracePeriod = readDuration(reader, reader.nested(end));
        break;
      case 18:
        invocationId = reader.string(end);
        break;
      default:
        reader.skip(tag, end, invocationCancelFields);
    }
  }
  reader.leave(end);
  return {
    gracePeriod,
    invocationId,
  };
}
