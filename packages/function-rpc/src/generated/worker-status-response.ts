// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Worker to host: response to the liveness check. */
export type WorkerStatusResponse = Readonly<Record<never, never>>;

/** WorkerStatusResponse for writing. Omitted fields have their defaults. */
export type WorkerStatusResponseInit = Readonly<Record<never, never>>;

/** Writes the fields of a WorkerStatusResponse. */
export function writeWorkerStatusResponse(_writer: ProtoWriter, _message: WorkerStatusResponseInit): void {
  // no fields
}

const workerStatusResponseFields: readonly number[] = [];

/** Reads a WorkerStatusResponse that ends at `end`. */
export function readWorkerStatusResponse(reader: ProtoReader, end: number): WorkerStatusResponse {
  while (reader.position < end) {
    const tag = reader.tag();
    reader.skip(tag, end, workerStatusResponseFields);
  }
  reader.leave(end);
  return {};
}
