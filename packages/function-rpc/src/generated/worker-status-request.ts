// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { Reader } from '../codec/reader.js';
import type { Writer } from '../codec/writer.js';

/** Host to worker: are you there? The time of the answer tells how busy the worker is. */
export type WorkerStatusRequest = Readonly<Record<never, never>>;

/** Writes as a WorkerStatusRequest: what is left out has its default. */
export type WorkerStatusRequestInit = Readonly<Record<never, never>>;

/** Writes the fields of a WorkerStatusRequest. */
export function writeWorkerStatusRequest(_writer: Writer, _message: WorkerStatusRequestInit): void {
  // it has none
}

const workerStatusRequestFields: readonly number[] = [];

/** Reads a WorkerStatusRequest that ends at `end`. */
export function readWorkerStatusRequest(reader: Reader, end: number): WorkerStatusRequest {
  while (reader.position < end) {
    const tag = reader.tag();
    reader.skip(tag, end, workerStatusRequestFields);
  }
  reader.leave(end);
  return {};
}
