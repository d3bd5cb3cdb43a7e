// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Host to worker: these shared memory maps are no longer needed. */
export interface CloseSharedMemoryResourcesRequest {
  readonly mapNames: readonly string[];
}

/** CloseSharedMemoryResourcesRequest for writing. Omitted fields have their defaults. */
export interface CloseSharedMemoryResourcesRequestInit {
  readonly mapNames?: readonly string[] | null | undefined;
}

/** Writes the fields of a CloseSharedMemoryResourcesRequest. */
export function writeCloseSharedMemoryResourcesRequest(
  writer: ProtoWriter,
  message: CloseSharedMemoryResourcesRequestInit,
): void {
  if (message.mapNames != null) {
    for (const item of message.mapNames) {
      writer.string(10, item);
    }
  }
}

const closeSharedMemoryResourcesRequestFields: readonly number[] = [1];

/** Reads a CloseSharedMemoryResourcesRequest that ends at `end`. */
export function readCloseSharedMemoryResourcesRequest(
  reader: ProtoReader,
  end: number,
): CloseSharedMemoryResourcesRequest {
  const mapNames: string[] = [];
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        mapNames.push(reader.string(end));
        break;
      default:
        reader.skip(tag, end, closeSharedMemoryResourcesRequestFields);
    }
  }
  reader.leave(end);
  return {
    mapNames,
  };
}
