// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** Host to worker: asks for the functions of the application. */
export interface FunctionsMetadataRequest {
  readonly functionAppDirectory: string;
}

/** FunctionsMetadataRequest for writing. Omitted fields have their defaults. */
export interface FunctionsMetadataRequestInit {
  readonly functionAppDirectory?: string | null | undefined;
}

/** Writes the fields of a FunctionsMetadataRequest. */
export function writeFunctionsMetadataRequest(writer: ProtoWriter, message: FunctionsMetadataRequestInit): void {
  if (message.functionAppDirectory) writer.string(10, message.functionAppDirectory);
}

const functionsMetadataRequestFields: readonly number[] = [1];

/** Reads a FunctionsMetadataRequest that ends at `end`. */
export function readFunctionsMetadataRequest(reader: ProtoReader, end: number): FunctionsMetadataRequest {
  let functionAppDirectory = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        functionAppDirectory = reader.string(end);
        break;
      default:
        reader.skip(tag, end, functionsMetadataRequestFields);
    }
  }
  reader.leave(end);
  return {
    functionAppDirectory,
  };
}
