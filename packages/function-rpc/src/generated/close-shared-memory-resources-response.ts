// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord, readBoolEntry, writeBoolMap } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Worker to host: which of the maps were closed. */
export interface CloseSharedMemoryResourcesResponse {
  readonly closeMapResults: Readonly<Record<string, boolean>>;
}

/** CloseSharedMemoryResourcesResponse for writing. Omitted fields have their defaults. */
export interface CloseSharedMemoryResourcesResponseInit {
  readonly closeMapResults?: Readonly<Record<string, boolean>> | null | undefined;
}

/** Writes the fields of a CloseSharedMemoryResourcesResponse. */
export function writeCloseSharedMemoryResourcesResponse(
  writer: ProtoWriter,
  message: CloseSharedMemoryResourcesResponseInit,
): void {
  if (message.closeMapResults != null) {
    writeBoolMap(writer, 10, message.closeMapResults, 38);
  }
}

const closeSharedMemoryResourcesResponseFields: readonly number[] = [1];

/** Reads a CloseSharedMemoryResourcesResponse that ends at `end`. */
export function readCloseSharedMemoryResourcesResponse(
  reader: ProtoReader,
  end: number,
): CloseSharedMemoryResourcesResponse {
  const closeMapResults = new nullRecord<boolean>();
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        readBoolEntry(reader, reader.nested(end), closeMapResults);
        break;
      default:
        reader.skip(tag, end, closeSharedMemoryResourcesResponseFields);
    }
  }
  reader.leave(end);
  return {
    closeMapResults,
  };
}
