// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { Reader } from '../codec/reader.js';
import type { Writer } from '../codec/writer.js';

/** Worker to host: I am here. */
export type WorkerStatusResponse = Readonly<Record<never, never>>;

/** Writes as a WorkerStatusResponse: what is left out has its default. */
export type WorkerStatusResponseInit = Readonly<Record<never, never>>;

/** Writes the fields of a WorkerStatusResponse. */
export function writeWorkerStatusResponse(_writer: Writer, _message: WorkerStatusResponseInit): void {
  // it has none
}

const workerStatusResponseFields: readonly number[] = [];

/** Reads a WorkerStatusResponse that ends at `end`. */
export function readWorkerStatusResponse(reader: Reader, end: number): WorkerStatusResponse {
  while (reader.position < end) {
    const tag = reader.tag();
    reader.skip(tag, end, workerStatusResponseFields);
  }
  reader.leave(end);
  return {};
}
