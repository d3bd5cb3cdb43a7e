// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { ProtoWriter } from '../codec/writer.js';
import {
  type FunctionLoadResponse,
  type FunctionLoadResponseInit,
  readFunctionLoadResponse,
  writeFunctionLoadResponse,
} from './function-load-response.js';

/** Worker to host: the responses to a collection of load requests. */
export interface FunctionLoadResponseCollection {
  readonly functionLoadResponses: readonly FunctionLoadResponse[];
}

/** FunctionLoadResponseCollection for writing. Omitted fields have their defaults. */
export interface FunctionLoadResponseCollectionInit {
  readonly functionLoadResponses?: readonly FunctionLoadResponseInit[] | null | undefined;
}

/** Writes the fields of a FunctionLoadResponseCollection. */
export function writeFunctionLoadResponseCollection(
  writer: ProtoWriter,
  message: FunctionLoadResponseCollectionInit,
): void {
  if (message.functionLoadResponses != null) {
    for (const item of message.functionLoadResponses) {
      const start = writer.open(10, 40);
      writeFunctionLoadResponse(writer, item);
      writer.close(start, 40);
    }
  }
}

const functionLoadResponseCollectionFields: readonly number[] = [1];

/** Reads a FunctionLoadResponseCollection that ends at `end`. */
export function readFunctionLoadResponseCollection(reader: ProtoReader, end: number): FunctionLoadResponseCollection {
  const functionLoadResponses: FunctionLoadResponse[] = [];
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        functionLoadResponses.push(readFunctionLoadResponse(reader, reader.nested(end)));
        break;
      default:
        reader.skip(tag, end, functionLoadResponseCollectionFields);
    }
  }
  reader.leave(end);
  return {
    functionLoadResponses,
  };
}
