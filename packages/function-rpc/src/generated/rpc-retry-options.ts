// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import type { RpcRetryOptionsRetryStrategy } from './enums.js';
import { type Duration, type DurationInit, readDuration, writeDuration } from './duration.js';

/** The retry policy for failed invocations. Strategy 0 is the exponential one. */
export interface RpcRetryOptions {
  readonly maxRetryCount: number;
  readonly delayInterval?: Duration | undefined;
  readonly minimumInterval?: Duration | undefined;
  readonly maximumInterval?: Duration | undefined;
  readonly retryStrategy: RpcRetryOptionsRetryStrategy;
}

/** RpcRetryOptions for writing. Omitted fields have their defaults. */
export interface RpcRetryOptionsInit {
  readonly maxRetryCount?: number | null | undefined;
  readonly delayInterval?: DurationInit | null | undefined;
  readonly minimumInterval?: DurationInit | null | undefined;
  readonly maximumInterval?: DurationInit | null | undefined;
  readonly retryStrategy?: RpcRetryOptionsRetryStrategy | null | undefined;
}

/** Writes the fields of a RpcRetryOptions. */
export function writeRpcRetryOptions(writer: ProtoWriter, message: RpcRetryOptionsInit): void {
  if (message.maxRetryCount) writer.int32(16, message.maxRetryCount);
  if (message.delayInterval != null) {
    const start = writer.open(26, 91);
    writeDuration(writer, message.delayInterval);
    writer.close(start, 91);
  }
  if (message.minimumInterval != null) {
    const start = writer.open(34, 92);
    writeDuration(writer, message.minimumInterval);
    writer.close(start, 92);
  }
  if (message.maximumInterval != null) {
    const start = writer.open(42, 93);
    writeDuration(writer, message.maximumInterval);
    writer.close(start, 93);
  }
  if (message.retryStrategy) writer.int32(48, message.retryStrategy);
}

const rpcRetryOptionsFields: readonly number[] = [2, 3, 4, 5, 6];

/** Reads a RpcRetryOptions that ends at `end`. */
export function readRpcRetryOptions(reader: ProtoReader, end: number): RpcRetryOptions {
  let maxRetryCount = 0;
  let delayInterval: Duration | undefined;
  let minimumInterval: Duration | undefined;
  let maximumInterval: Duration | undefined;
  let retryStrategy = 0;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 16:
        maxRetryCount = reader.int32();
        break;
      case 26:
        delayInterval = readDuration(reader, reader.nested(end));
        break;
      case 34:
        minimumInterval = readDuration(reader, reader.nested(end));
        break;
      case 42:
        maximumInterval = readDuration(reader, reader.nested(end));
        break;
      case 48:
        retryStrategy = reader.int32();
        break;
      default:
        reader.skip(tag, end, rpcRetryOptionsFields);
    }
  }
  reader.leave(end);
  return {
    maxRetryCount,
    delayInterval,
    minimumInterval,
    maximumInterval,
    retryStrategy,
  };
}
