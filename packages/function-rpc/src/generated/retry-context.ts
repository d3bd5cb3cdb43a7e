// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type RpcException, type RpcExceptionInit, readRpcException, writeRpcException } from './rpc-exception.js';

/** The attempt number of an invocation. */
export interface RetryContext {
  readonly retryCount: number;
  readonly maxRetryCount: number;
  readonly exception?: RpcException | undefined;
}

/** RetryContext for writing. Omitted fields have their defaults. */
export interface RetryContextInit {
  readonly retryCount?: number | null | undefined;
  readonly maxRetryCount?: number | null | undefined;
  readonly exception?: RpcExceptionInit | null | undefined;
}

/** Writes the fields of a RetryContext. */
export function writeRetryContext(writer: ProtoWriter, message: RetryContextInit): void {
  if (message.retryCount) writer.int32(8, message.retryCount);
  if (message.maxRetryCount) writer.int32(16, message.maxRetryCount);
  if (message.exception != null) {
    const start = writer.open(26, 54);
    writeRpcException(writer, message.exception);
    writer.close(start, 54);
  }
}

const retryContextFields: readonly number[] = [1, 2, 3];

/** Reads a RetryContext that ends at `end`. */
export function readRetryContext(reader: ProtoReader, end: number): RetryContext {
  let retryCount = 0;
  let maxRetryCount = 0;
  let exception: RpcException | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 8:
        retryCount = reader.int32();
        break;
      case 16:
        maxRetryCount = reader.int32();
        break;
      case 26:
        exception = readRpcException(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, retryContextFields);
    }
  }
  reader.leave(end);
  return {
    retryCount,
    maxRetryCount,
    exception,
  };
}
