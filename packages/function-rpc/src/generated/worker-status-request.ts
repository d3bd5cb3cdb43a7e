// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Host to worker: liveness check. The response time shows the latency of the worker. */
export type WorkerStatusRequest = Readonly<Record<never, never>>;

/** WorkerStatusRequest for writing. Omitted fields have their defaults. */
export type WorkerStatusRequestInit = Readonly<Record<never, never>>;

/** Writes the fields of a WorkerStatusRequest. */
export function writeWorkerStatusRequest(_writer: ProtoWriter, _message: WorkerStatusRequestInit): void {
  // no fields
}

const workerStatusRequestFields: readonly number[] = [];

/** Reads a WorkerStatusRequest that ends at `end`. */
export function readWorkerStatusRequest(reader: ProtoReader, end: number): WorkerStatusRequest {
  while (reader.position < end) {
    const tag = reader.tag();
    reader.skip(tag, end, workerStatusRequestFields);
  }
  reader.leave(end);
  return {};
}
