// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import { nullRecord } from '../codec/map-entries.js';
import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import {
  type RpcTraceContext,
  type RpcTraceContextInit,
  readRpcTraceContext,
  writeRpcTraceContext,
} from './rpc-trace-context.js';
import { type RetryContext, type RetryContextInit, readRetryContext, writeRetryContext } from './retry-context.js';
import type { TypedData, TypedDataInit } from './typed-data.js';
import { readTypedDataEntry } from './typed-data-read.js';
import { writeTypedData } from './typed-data-write.js';
import {
  type ParameterBinding,
  type ParameterBindingInit,
  readParameterBinding,
  writeParameterBinding,
} from './parameter-binding.js';

/** Host to worker: run this function with these inputs. */
export interface InvocationRequest {
  /** New for every attempt. */
  readonly invocationId: string;
  readonly functionId: string;
  readonly inputData: readonly ParameterBinding[];
  readonly triggerMetadata: Readonly<Record<string, TypedData>>;
  readonly traceContext?: RpcTraceContext | undefined;
  /** Only for functions with a retry policy. */
  readonly retryContext?: RetryContext | undefined;
}

/** InvocationRequest for writing. Omitted fields have their defaults. */
export interface InvocationRequestInit {
  readonly invocationId?: string | null | undefined;
  readonly functionId?: string | null | undefined;
  readonly inputData?: readonly ParameterBindingInit[] | null | undefined;
  readonly triggerMetadata?: Readonly<Record<string, TypedDataInit>> | null | undefined;
  readonly traceContext?: RpcTraceContextInit | null | undefined;
  readonly retryContext?: RetryContextInit | null | undefined;
}

/** Writes the fields of an InvocationRequest. */
export function writeInvocationRequest(writer: ProtoWriter, message: InvocationRequestInit): void {
  if (message.invocationId) writer.string(10, message.invocationId);
  if (message.functionId) writer.string(18, message.functionId);
  if (message.inputData != null) {
    for (const item of message.inputData) {
      const start = writer.open(26, 49);
      writeParameterBinding(writer, item);
      writer.close(start, 49);
    }
  }
  if (message.triggerMetadata != null) {
    for (const key of Object.keys(message.triggerMetadata)) {
      const item = message.triggerMetadata[key];
      if (item == null) continue;
      const start = writer.open(34, 50);
      writer.string(10, key);
      const inner = writer.open(18, 50);
      writeTypedData(writer, item);
      writer.close(inner, 50);
      writer.close(start, 50);
    }
  }
  if (message.traceContext != null) {
    const start = writer.open(42, 51);
    writeRpcTraceContext(writer, message.traceContext);
    writer.close(start, 51);
  }
  if (message.retryContext != null) {
    const start = writer.open(50, 52);
    writeRetryContext(writer, message.retryContext);
    writer.close(start, 52);
  }
}

const invocationRequestFields: readonly number[] = [1, 2, 3, 4, 5, 6];

/** Reads an InvocationRequest that ends at `end`. */
export function readInvocationRequest(reader: ProtoReader, end: number): InvocationRequest {
  let invocationId = '';
  let functionId = '';
  const inputData: ParameterBinding[] = [];
  const triggerMetadata = new nullRecord<TypedData>();
  let traceContext: RpcTraceContext | undefined;
  let retryContext: RetryContext | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        invocationId = reader.string(end);
        break;
      case 18:
        functionId = reader.string(end);
        break;
      case 26:
        inputData.push(readParameterBinding(reader, reader.nested(end)));
        break;
      case 34:
        readTypedDataEntry(reader, reader.nested(end), triggerMetadata);
        break;
      case 42:
        traceContext = readRpcTraceContext(reader, reader.nested(end));
        break;
      case 50:
        retryContext = readRetryContext(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, invocationRequestFields);
    }
  }
  reader.leave(end);
  return {
    invocationId,
    functionId,
    inputData,
    triggerMetadata,
    traceContext,
    retryContext,
  };
}
