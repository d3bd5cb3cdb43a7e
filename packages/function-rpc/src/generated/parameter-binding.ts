// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { TypedData, TypedDataInit } from './typed-data.js';
import { readTypedData } from './typed-data-read.js';
import { writeTypedData } from './typed-data-write.js';
import {
  type RpcSharedMemory,
  type RpcSharedMemoryInit,
  readRpcSharedMemory,
  writeRpcSharedMemory,
} from './rpc-shared-memory.js';

/** The name and value of one binding. */
export interface ParameterBinding {
  readonly name: string;
  readonly data?: TypedData | undefined;
  readonly rpcSharedMemory?: RpcSharedMemory | undefined;
}

/** ParameterBinding for writing. Omitted fields have their defaults. */
export interface ParameterBindingInit {
  readonly name?: string | null | undefined;
  readonly data?: TypedDataInit | null | undefined;
  readonly rpcSharedMemory?: RpcSharedMemoryInit | null | undefined;
}

/** Writes the fields of a ParameterBinding. */
export function writeParameterBinding(writer: ProtoWriter, message: ParameterBindingInit): void {
  if (message.name) writer.string(10, message.name);
  if (message.data != null) {
    const start = writer.open(18, 69);
    writeTypedData(writer, message.data);
    writer.close(start, 69);
  } else if (message.rpcSharedMemory != null) {
    const start = writer.open(26, 70);
    writeRpcSharedMemory(writer, message.rpcSharedMemory);
    writer.close(start, 70);
  }
}

const parameterBindingFields: readonly number[] = [1, 2, 3];

/** Reads a ParameterBinding that ends at `end`. */
export function readParameterBinding(reader: ProtoReader, end: number): ParameterBinding {
  let name = '';
  let data: TypedData | undefined;
  let rpcSharedMemory: RpcSharedMemory | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        name = reader.string(end);
        break;
      case 18:
        data = readTypedData(reader, reader.nested(end));
        rpcSharedMemory = undefined;
        break;
      case 26:
        rpcSharedMemory = readRpcSharedMemory(reader, reader.nested(end));
        data = undefined;
        break;
      default:
        reader.skip(tag, end, parameterBindingFields);
    }
  }
  reader.leave(end);
  return {
    name,
    data,
    rpcSharedMemory,
  };
}
