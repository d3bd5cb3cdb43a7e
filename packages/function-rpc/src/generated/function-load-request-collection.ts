// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import {
  type FunctionLoadRequest,
  type FunctionLoadRequestInit,
  readFunctionLoadRequest,
  writeFunctionLoadRequest,
} from './function-load-request.js';

/** Host to worker: several load requests, for workers that announce support for it. */
export interface FunctionLoadRequestCollection {
  readonly functionLoadRequests: readonly FunctionLoadRequest[];
}

/** FunctionLoadRequestCollection for writing. Omitted fields have their defaults. */
export interface FunctionLoadRequestCollectionInit {
  readonly functionLoadRequests?: readonly FunctionLoadRequestInit[] | null | undefined;
}

/** Writes the fields of a FunctionLoadRequestCollection. */
export function writeFunctionLoadRequestCollection(
  writer: ProtoWriter,
  message: FunctionLoadRequestCollectionInit,
): void {
  if (message.functionLoadRequests != null) {
    for (const item of message.functionLoadRequests) {
      const start = writer.open(10, 39);
      writeFunctionLoadRequest(writer, item);
      writer.close(start, 39);
    }
  }
}

const functionLoadRequestCollectionFields: readonly number[] = [1];

/** Reads a FunctionLoadRequestCollection that ends at `end`. */
export function readFunctionLoadRequestCollection(reader: ProtoReader, end: number): FunctionLoadRequestCollection {
  const functionLoadRequests: FunctionLoadRequest[] = [];
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        functionLoadRequests.push(readFunctionLoadRequest(reader, reader.nested(end)));
        break;
      default:
        reader.skip(tag, end, functionLoadRequestCollectionFields);
    }
  }
  reader.leave(end);
  return {
    functionLoadRequests,
  };
}
