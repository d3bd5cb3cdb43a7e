// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type Duration, type DurationInit, readDuration, writeDuration } from './duration.js';

/** Host to worker: terminate within the grace period. The end of the stream is the only response. */
export interface WorkerTerminate {
  readonly gracePeriod?: Duration | undefined;
}

/** WorkerTerminate for writing. Omitted fields have their defaults. */
export interface WorkerTerminateInit {
  readonly gracePeriod?: DurationInit | null | undefined;
}

/** Writes the fields of a WorkerTerminate. */
export function writeWorkerTerminate(writer: ProtoWriter, message: WorkerTerminateInit): void {
  if (message.gracePeriod != null) {
    const start = writer.open(10, 33);
    writeDuration(writer, message.gracePeriod);
    writer.close(start, 33);
  }
}

const workerTerminateFields: readonly number[] = [1];

/** Reads a WorkerTerminate that ends at `end`. */
export function readWorkerTerminate(reader: ProtoReader, end: number): WorkerTerminate {
  let gracePeriod: Duration | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        gracePeriod = readDuration(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, workerTerminateFields);
    }
  }
  reader.leave(end);
  return {
    gracePeriod,
  };
}
