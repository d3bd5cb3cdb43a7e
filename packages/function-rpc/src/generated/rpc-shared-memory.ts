// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { RpcDataType } from './enums.js';

/** A value in a shared memory map. */
export interface RpcSharedMemory {
  readonly name: string;
  readonly offset: number | bigint;
  readonly count: number | bigint;
  readonly type: RpcDataType;
}

/** RpcSharedMemory for writing. Omitted fields have their defaults. */
export interface RpcSharedMemoryInit {
  readonly name?: string | null | undefined;
  readonly offset?: number | bigint | null | undefined;
  readonly count?: number | bigint | null | undefined;
  readonly type?: RpcDataType | null | undefined;
}

/** Writes the fields of a RpcSharedMemory. */
export function writeRpcSharedMemory(writer: ProtoWriter, message: RpcSharedMemoryInit): void {
  if (message.name) writer.string(10, message.name);
  if (message.offset) writer.int64(16, message.offset);
  if (message.count) writer.int64(24, message.count);
  if (message.type) writer.int32(32, message.type);
}

const rpcSharedMemoryFields: readonly number[] = [1, 2, 3, 4];

/** Reads a RpcSharedMemory that ends at `end`. */
export function readRpcSharedMemory(reader: ProtoReader, end: number): RpcSharedMemory {
  let name = '';
  let offset: number | bigint = 0;
  let count: number | bigint = 0;
  let type = 0;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        name = reader.string(end);
        break;
      case 16:
        offset = reader.int64();
        break;
      case 24:
        count = reader.int64();
        break;
      case 32:
        type = reader.int32();
        break;
      default:
        reader.skip(tag, end, rpcSharedMemoryFields);
    }
  }
  reader.leave(end);
  return {
    name,
    offset,
    count,
    type,
  };
}
