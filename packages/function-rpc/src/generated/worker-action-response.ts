// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { WorkerActionResponseAction } from './enums.js';

/** Worker to host: asks to be restarted or reloaded. Unused by current workers. */
export interface WorkerActionResponse {
  readonly action: WorkerActionResponseAction;
  readonly reason: string;
}

/** WorkerActionResponse for writing. Omitted fields have their defaults. */
export interface WorkerActionResponseInit {
  readonly action?: WorkerActionResponseAction | null | undefined;
  readonly reason?: string | null | undefined;
}

/** Writes the fields of a WorkerActionResponse. */
export function writeWorkerActionResponse(writer: ProtoWriter, message: WorkerActionResponseInit): void {
  if (message.action) writer.int32(8, message.action);
  if (message.reason) writer.string(18, message.reason);
}

const workerActionResponseFields: readonly number[] = [1, 2];

/** Reads a WorkerActionResponse that ends at `end`. */
export function readWorkerActionResponse(reader: ProtoReader, end: number): WorkerActionResponse {
  let action = 0;
  let reason = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 8:
        action = reader.int32();
        break;
      case 18:
        reason = reader.string(end);
        break;
      default:
        reader.skip(tag, end, workerActionResponseFields);
    }
  }
  reader.leave(end);
  return {
    action,
    reason,
  };
}
