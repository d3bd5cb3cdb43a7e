// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type StatusResult, type StatusResultInit, readStatusResult, writeStatusResult } from './status-result.js';
import type { TypedData, TypedDataInit } from './typed-data.js';
import { readTypedData } from './typed-data-read.js';
import { writeTypedData } from './typed-data-write.js';
import {
  type ParameterBinding,
  type ParameterBindingInit,
  readParameterBinding,
  writeParameterBinding,
} from './parameter-binding.js';

/** Worker to host: result and outputs of an invocation. */
export interface InvocationResponse {
  readonly invocationId: string;
  readonly outputData: readonly ParameterBinding[];
  readonly result?: StatusResult | undefined;
  readonly returnValue?: TypedData | undefined;
}

/** InvocationResponse for writing. Omitted fields have their defaults. */
export interface InvocationResponseInit {
  readonly invocationId?: string | null | undefined;
  readonly outputData?: readonly ParameterBindingInit[] | null | undefined;
  readonly result?: StatusResultInit | null | undefined;
  readonly returnValue?: TypedDataInit | null | undefined;
}

/** Writes the fields of an InvocationResponse. */
export function writeInvocationResponse(writer: ProtoWriter, message: InvocationResponseInit): void {
  if (message.invocationId) writer.string(10, message.invocationId);
  if (message.outputData != null) {
    for (const item of message.outputData) {
      const start = writer.open(18, 56);
      writeParameterBinding(writer, item);
      writer.close(start, 56);
    }
  }
  if (message.result != null) {
    const start = writer.open(26, 57);
    writeStatusResult(writer, message.result);
    writer.close(start, 57);
  }
  if (message.returnValue != null) {
    const start = writer.open(34, 58);
    writeTypedData(writer, message.returnValue);
    writer.close(start, 58);
  }
}

const invocationResponseFields: readonly number[] = [1, 2, 3, 4];

/** Reads an InvocationResponse that ends at `end`. */
export function readInvocationResponse(reader: ProtoReader, end: number): InvocationResponse {
  let invocationId = '';
  const outputData: ParameterBinding[] = [];
  let result: StatusResult | undefined;
  let returnValue: TypedData | undefined;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        invocationId = reader.string(end);
        break;
      case 18:
        outputData.push(readParameterBinding(reader, reader.nested(end)));
        break;
      case 26:
        result = readStatusResult(reader, reader.nested(end));
        break;
      case 34:
        returnValue = readTypedData(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, invocationResponseFields);
    }
  }
  reader.leave(end);
  return {
    invocationId,
    outputData,
    result,
    returnValue,
  };
}
