// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import { type StatusResult, type StatusResultInit, readStatusResult, writeStatusResult } from './status-result.js';

/** Worker to host: result of a load request. */
export interface FunctionLoadResponse {
  readonly functionId: string;
  readonly result?: StatusResult | undefined;
  readonly isDependencyDownloaded: boolean;
}

/** FunctionLoadResponse for writing. Omitted fields have their defaults. */
export interface FunctionLoadResponseInit {
  readonly functionId?: string | null | undefined;
  readonly result?: StatusResultInit | null | undefined;
  readonly isDependencyDownloaded?: boolean | null | undefined;
}

/** Writes the fields of a FunctionLoadResponse. */
export function writeFunctionLoadResponse(writer: ProtoWriter, message: FunctionLoadResponseInit): void {
  if (message.functionId) writer.string(10, message.functionId);
  if (message.result != null) {
    const start = writer.open(18, 42);
    writeStatusResult(writer, message.result);
    writer.close(start, 42);
  }
  if (message.isDependencyDownloaded) writer.bool(24, message.isDependencyDownloaded);
}

const functionLoadResponseFields: readonly number[] = [1, 2, 3];

/** Reads a FunctionLoadResponse that ends at `end`. */
export function readFunctionLoadResponse(reader: ProtoReader, end: number): FunctionLoadResponse {
  let functionId = '';
  let result: StatusResult | undefined;
  let isDependencyDownloaded = false;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        functionId = reader.string(end);
        break;
      case 18:
        result = readStatusResult(reader, reader.nested(end));
        break;
      case 24:
        isDependencyDownloaded = reader.bool();
        break;
      default:
        reader.skip(tag, end, functionLoadResponseFields);
    }
  }
  reader.leave(end);
  return {
    functionId,
    result,
    isDependencyDownloaded,
  };
}
