// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Unused by current hosts and workers. */
export type WorkerHeartbeat = Readonly<Record<never, never>>;

/** WorkerHeartbeat for writing. Omitted fields have their defaults. */
export type WorkerHeartbeatInit = Readonly<Record<never, never>>;

/** Writes the fields of a WorkerHeartbeat. */
export function writeWorkerHeartbeat(_writer: ProtoWriter, _message: WorkerHeartbeatInit): void {
  // no fields
}

const workerHeartbeatFields: readonly number[] = [];

/** Reads a WorkerHeartbeat that ends at `end`. */
export function readWorkerHeartbeat(reader: ProtoReader, end: number): WorkerHeartbeat {
  while (reader.position < end) {
    const tag = reader.tag();
    reader.skip(tag, end, workerHeartbeatFields);
  }
  reader.leave(end);
  return {};
}
