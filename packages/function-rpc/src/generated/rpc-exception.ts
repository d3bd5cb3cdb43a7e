// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';

/** An error in a worker. */
export interface RpcException {
  readonly stackTrace: string;
  readonly message: string;
  readonly source: string;
  readonly isUserException: boolean;
  readonly type: string;
}

/** RpcException for writing. Omitted fields have their defaults. */
export interface RpcExceptionInit {
  readonly stackTrace?: string | null | undefined;
  readonly message?: string | null | undefined;
  readonly source?: string | null | undefined;
  readonly isUserException?: boolean | null | undefined;
  readonly type?: string | null | undefined;
}

/** Writes the fields of a RpcException. */
export function writeRpcException(writer: ProtoWriter, message: RpcExceptionInit): void {
  if (message.stackTrace) writer.string(10, message.stackTrace);
  if (message.message) writer.string(18, message.message);
  if (message.source) writer.string(26, message.source);
  if (message.isUserException) writer.bool(32, message.isUserException);
  if (message.type) writer.string(42, message.type);
}

const rpcExceptionFields: readonly number[] = [1, 2, 3, 4, 5];

/** Reads a RpcException that ends at `end`. */
export function readRpcException(reader: ProtoReader, end: number): RpcException {
  let stackTrace = '';
  let message = '';
  let source = '';
  let isUserException = false;
  let type = '';
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        stackTrace = reader.string(end);
        break;
      case 18:
        message = reader.string(end);
        break;
      case 26:
        source = reader.string(end);
        break;
      case 32:
        isUserException = reader.bool();
        break;
      case 42:
        type = reader.string(end);
        break;
      default:
        reader.skip(tag, end, rpcExceptionFields);
    }
  }
  reader.leave(end);
  return {
    stackTrace,
    message,
    source,
    isUserException,
    type,
  };
}
