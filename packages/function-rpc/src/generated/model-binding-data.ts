// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { noBytes, type ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** What a worker needs to create an SDK client for a binding. */
export interface ModelBindingData {
  readonly version: string;
  readonly source: string;
  readonly contentType: string;
  readonly content: Uint8Array;
}

/** ModelBindingData for writing. Omitted fields have their defaults. */
export interface ModelBindingDataInit {
  readonly version?: string | null | undefined;
  readonly source?: string | null | undefined;
  readonly contentType?: string | null | undefined;
  readonly content?: Uint8Array | null | undefined;
}

/** Writes the fields of a ModelBindingData. */
export function writeModelBindingData(writer: ProtoWriter, message: ModelBindingDataInit): void {
  if (message.version) writer.string(10, message.version);
  if (message.source) writer.string(18, message.source);
  if (message.contentType) writer.string(26, message.contentType);
  if (message.content?.length) writer.bytes(34, message.content);
}

const modelBindingDataFields: readonly number[] = [1, 2, 3, 4];

/** Reads a ModelBindingData that ends at `end`. */
export function readModelBindingData(reader: ProtoReader, end: number): ModelBindingData {
  let version = '';
  let source = '';
  let contentType = '';
  let content: Uint8Array = noBytes;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        version = reader.string(end);
        break;
      case 18:
        source = reader.string(end);
        break;
      case 26:
        contentType = reader.string(end);
        break;
      case 34:
        content = reader.bytes(end);
        break;
      default:
        reader.skip(tag, end, modelBindingDataFields);
    }
  }
  reader.leave(end);
  return {
    version,
    source,
    contentType,
    content,
  };
}
