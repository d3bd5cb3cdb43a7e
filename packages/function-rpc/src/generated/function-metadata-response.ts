// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type StatusResult, type StatusResultInit, readStatusResult, writeStatusResult } from './status-result.js';
import {
  type RpcFunctionMetadata,
  type RpcFunctionMetadataInit,
  readRpcFunctionMetadata,
  writeRpcFunctionMetadata,
} from './rpc-function-metadata.js';

/** Worker to host: the functions, or a request that the host looks for function.json files. */
export interface FunctionMetadataResponse {
  readonly functionMetadataResults: readonly RpcFunctionMetadata[];
  readonly result?: StatusResult | undefined;
  readonly useDefaultMetadataIndexing: boolean;
}

/** FunctionMetadataResponse for writing. Omitted fields have their defaults. */
export interface FunctionMetadataResponseInit {
  readonly functionMetadataResults?: readonly RpcFunctionMetadataInit[] | null | undefined;
  readonly result?: StatusResultInit | null | undefined;
  readonly useDefaultMetadataIndexing?: boolean | null | undefined;
}

/** Writes the fields of a FunctionMetadataResponse. */
export function writeFunctionMetadataResponse(writer: ProtoWriter, message: FunctionMetadataResponseInit): void {
  if (message.functionMetadataResults != null) {
    for (const item of message.functionMetadataResults) {
      const start = writer.open(10, 47);
      writeRpcFunctionMetadata(writer, item);
      writer.close(start, 47);
    }
  }
  if (message.result != null) {
    const start = writer.open(18, 48);
    writeStatusResult(writer, message.result);
    writer.close(start, 48);
  }
  if (message.useDefaultMetadataIndexing) writer.bool(24, message.useDefaultMetadataIndexing);
}

const functionMetadataResponseFields: readonly number[] = [1, 2, 3];

/** Reads a FunctionMetadataResponse that ends at `end`. */
export function readFunctionMetadataResponse(reader: ProtoReader, end: number): FunctionMetadataResponse {
  const functionMetadataResults: RpcFunctionMetadata[] = [];
  let result: StatusResult | undefined;
  let useDefaultMetadataIndexing = false;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        functionMetadataResults.push(readRpcFunctionMetadata(reader, reader.nested(end)));
        break;
      case 18:
        result = readStatusResult(reader, reader.nested(end));
        break;
      case 24:
        useDefaultMetadataIndexing = reader.bool();
        break;
      default:
        reader.skip(tag, end, functionMetadataResponseFields);
    }
  }
  reader.leave(end);
  return {
    functionMetadataResults,
    result,
    useDefaultMetadataIndexing,
  };
}
