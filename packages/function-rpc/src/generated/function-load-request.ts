// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import {
  type RpcFunctionMetadata,
  type RpcFunctionMetadataInit,
  readRpcFunctionMetadata,
  writeRpcFunctionMetadata,
} from './rpc-function-metadata.js';

/** Host to worker: load this function. */
export interface FunctionLoadRequest {
  readonly functionId: string;
  readonly metadata?: RpcFunctionMetadata | undefined;
  readonly managedDependencyEnabled: boolean;
}

/** FunctionLoadRequest for writing. Omitted fields have their defaults. */
export interface FunctionLoadRequestInit {
  readonly functionId?: string | null | undefined;
  readonly metadata?: RpcFunctionMetadataInit | null | undefined;
  readonly managedDependencyEnabled?: boolean | null | undefined;
}

/** Writes the fields of a FunctionLoadRequest. */
export function writeFunctionLoadRequest(writer: ProtoWriter, message: FunctionLoadRequestInit): void {
  if (message.functionId) writer.string(10, message.functionId);
  if (message.metadata != null) {
    const start = writer.open(18, 41);
    writeRpcFunctionMetadata(writer, message.metadata);
    writer.close(start, 41);
  }
  if (message.managedDependencyEnabled) writer.bool(24, message.managedDependencyEnabled);
}

const functionLoadRequestFields: readonly number[] = [1, 2, 3];

/** Reads a FunctionLoadRequest that ends at `end`. */
export function readFunctionLoadRequest(reader: ProtoReader, end: number): FunctionLoadRequest {
  let functionId = '';
  let metadata: RpcFunctionMetadata | undefined;
  let managedDependencyEnabled = false;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        functionId = reader.string(end);
        break;
      case 18:
        metadata = readRpcFunctionMetadata(reader, reader.nested(end));
        break;
      case 24:
        managedDependencyEnabled = reader.bool();
        break;
      default:
        reader.skip(tag, end, functionLoadRequestFields);
    }
  }
  reader.leave(end);
  return {
    functionId,
    metadata,
    managedDependencyEnabled,
  };
}
