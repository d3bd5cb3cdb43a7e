// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { FileChangeEventRequestType } from './enums.js';

/** Host to worker: a file of the application changed. Unused by current hosts. */
export interface FileChangeEventRequest {
  readonly type: FileChangeEventRequestType;
  readonly fullPath: string;
  readonly name: string;
}

/** FileChangeEventRequest for writing. Omitted fields have their defaults. */
export interface FileChangeEventRequestInit {
  readonly type?: FileChangeEventRequestType | null | undefined;
  readonly fullPath?: string | null | undefined;
  readonly name?: string | null | undefined;
}

/** Writes the fields of a FileChangeEventRequest. */
export function writeFileChangeEventRequest(writer: ProtoWriter, message: FileChangeEventRequestInit): void {
  if (message.type) writer.int32(8, message.type);
  if (message.fullPath) writer.string(18, message.fullPath);
  if (message.name) writer.string(26, message.name);
}

const fileChangeEventRequestFields: readonly number[] = [1, 2, 3];

/** Reads a FileChangeEventRequest that ends at `end`. */
export function readFileChangeEventRequest(reader: ProtoReader, end: number): FileChangeEventRequest {
  let type = 0;
  let fullPath = '';
  let name = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 8:
        type = reader.int32();
        break;
      case 18:
        fullPath = reader.string(end);
        break;
      case 26:
        name = reader.string(end);
        break;
      default:
        reader.skip(tag, end, fileChangeEventRequestFields);
    }
  }
  reader.leave(end);
  return {
    type,
    fullPath,
    name,
  };
}
