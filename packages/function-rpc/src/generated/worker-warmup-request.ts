// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Host to a placeholder: warm up. */
export interface WorkerWarmupRequest {
  readonly workerDirectory: string;
}

/** WorkerWarmupRequest for writing. Omitted fields have their defaults. */
export interface WorkerWarmupRequestInit {
  readonly workerDirectory?: string | null | undefined;
}

/** Writes the fields of a WorkerWarmupRequest. */
export function writeWorkerWarmupRequest(writer: ProtoWriter, message: WorkerWarmupRequestInit): void {
  if (message.workerDirectory) writer.string(10, message.workerDirectory);
}

const workerWarmupRequestFields: readonly number[] = [1];

/** Reads a WorkerWarmupRequest that ends at `end`. */
export function readWorkerWarmupRequest(reader: ProtoReader, end: number): WorkerWarmupRequest {
  let workerDirectory = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        workerDirectory = reader.string(end);
        break;
      default:
        reader.skip(tag, end, workerWarmupRequestFields);
    }
  }
  reader.leave(end);
  return {
    workerDirectory,
  };
}
