// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type StatusResult, type StatusResultInit, readStatusResult, writeStatusResult } from './status-result.js';

/** Worker to host: result of the warm-up. */
export interface WorkerWarmupResponse {
  readonly result?: StatusResult | undefined;
}

/** WorkerWarmupResponse for writing. Omitted fields have their defaults. */
export interface WorkerWarmupResponseInit {
  readonly result?: StatusResultInit | null | undefined;
}

/** Writes the fields of a WorkerWarmupResponse. */
export function writeWorkerWarmupResponse(writer: ProtoWriter, message: WorkerWarmupResponseInit): void {
  if (message.result != null) {
    const start = writer.open(10, 59);
    writeStatusResult(writer, message.result);
    writer.close(start, 59);
  }
}

const workerWarmupResponseFields: readonly number[] = [1];

/** Reads a WorkerWarmupResponse that ends at `end`. */
export function readWorkerWarmupResponse(reader: ProtoReader, end: number): WorkerWarmupResponse {
  let result: StatusResult | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        result = readStatusResult(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, workerWarmupResponseFields);
    }
  }
  reader.leave(end);
  return {
    result,
  };
}
