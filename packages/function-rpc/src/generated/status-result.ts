// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { StatusResultStatus } from './enums.js';
import { type RpcLog, type RpcLogInit, readRpcLog, writeRpcLog } from './rpc-log.js';
import { type RpcException, type RpcExceptionInit, readRpcException, writeRpcException } from './rpc-exception.js';

/** The result of an operation. An empty one is a failure. */
export interface StatusResult {
  readonly result: string;
  readonly exception?: RpcException | undefined;
  readonly logs: readonly RpcLog[];
  readonly status: StatusResultStatus;
}

/** StatusResult for writing. Omitted fields have their defaults. */
export interface StatusResultInit {
  readonly result?: string | null | undefined;
  readonly exception?: RpcExceptionInit | null | undefined;
  readonly logs?: readonly RpcLogInit[] | null | undefined;
  readonly status?: StatusResultStatus | null | undefined;
}

/** Writes the fields of a StatusResult. */
export function writeStatusResult(writer: ProtoWriter, message: StatusResultInit): void {
  if (message.result) writer.string(10, message.result);
  if (message.exception != null) {
    const start = writer.open(18, 31);
    writeRpcException(writer, message.exception);
    writer.close(start, 31);
  }
  if (message.logs != null) {
    for (const item of message.logs) {
      const start = writer.open(26, 32);
      writeRpcLog(writer, item);
      writer.close(start, 32);
    }
  }
  if (message.status) writer.int32(32, message.status);
}

const statusResultFields: readonly number[] = [1, 2, 3, 4];

/** Reads a StatusResult that ends at `end`. */
export function readStatusResult(reader: ProtoReader, end: number): StatusResult {
  let result = '';
  let exception: RpcException | undefined;
  const logs: RpcLog[] = [];
  let status = 0;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        result = reader.string(end);
        break;
      case 18:
        exception = readRpcException(reader, reader.nested(end));
        break;
      case 26:
        logs.push(readRpcLog(reader, reader.nested(end)));
        break;
      case 32:
        status = reader.int32();
        break;
      default:
        reader.skip(tag, end, statusResultFields);
    }
  }
  reader.leave(end);
  return {
    result,
    exception,
    logs,
    status,
  };
}
